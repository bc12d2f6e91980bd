"""Runs over many zones, and changes of many RRsets at once."""
