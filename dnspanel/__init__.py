"""The panel. All code except `cli`, the command-line client, needs PostgreSQL or a browser."""

from replication import __version__

__all__ = ["__version__"]
