"""The panel: all code that needs PostgreSQL or a browser. Its command line, `cli`, needs neither."""

from replication import __version__

__all__ = ["__version__"]
