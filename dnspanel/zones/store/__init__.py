"""Rows of zones, RRsets and changes: read and written in sets."""
