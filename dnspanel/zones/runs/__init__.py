"""Runs over many zones, and changes to many RRsets at once."""
