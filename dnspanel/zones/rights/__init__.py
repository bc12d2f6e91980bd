"""Rights over zones to read and change them, and locks."""
