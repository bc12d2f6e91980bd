"""Sessions of browsers."""
