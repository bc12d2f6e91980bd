"""Encode a range of the log into rows and a signed segment."""
