"""Bulk reading and writing of the rows of zones, RRsets and changes."""
