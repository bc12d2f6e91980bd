"""The panel: all code that needs PostgreSQL or a browser. Only the package `cli`, the command line, needs neither."""

from replication import __version__

__all__ = ["__version__"]
