"""Django panel for DNS zones. The command-line client in `cli` runs without the panel's database."""

from replication import __version__

__all__ = ["__version__"]
