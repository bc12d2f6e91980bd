"""Checks that LMDB files have the expected contents, and checks that a range of the log would break no zone."""
