"""ENCODE: the log becomes LMDB files and signed segments. Does not know that nodes exist."""
