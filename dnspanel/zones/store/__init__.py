"""Reading and writing rows of zones, RRsets and changes in sets."""
