"""Check that LMDB files have the expected contents, and that zones stay valid after a range of the log."""
