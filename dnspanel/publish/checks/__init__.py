"""Checks of the contents of LMDB files, and checks whether a range of the log would break a zone."""
