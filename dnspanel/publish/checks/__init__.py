"""What the files have to hold, and whether a range of the log would break a zone."""
