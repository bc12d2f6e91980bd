"""Rights to read and change zones, and locks."""
