"""The publisher, which encodes the log as LMDB files and signed segments. This package doesn't know about nodes."""
