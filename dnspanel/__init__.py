"""The panel: all code that needs PostgreSQL or a browser. The package `cli`, the command-line client, needs neither."""

from replication import __version__

__all__ = ["__version__"]
