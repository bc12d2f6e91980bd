"""ENCODE: turns the log into LMDB files and signed segments. This package doesn't know about nodes."""
