"""The panel: everything that needs PostgreSQL or a browser; and its command line, `cli`, which needs neither."""

from replication import __version__

__all__ = ["__version__"]
