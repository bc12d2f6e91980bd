"""Rights over zones: reading and changing, and locks."""
