"""Back up and restore the panel, each with one command."""
