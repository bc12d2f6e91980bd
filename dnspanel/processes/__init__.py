"""Code shared by all processes of the panel: the broker, their start, and their work without the broker."""
