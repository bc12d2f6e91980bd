"""The publisher, which encodes the log as LMDB files and signed segments. This package has no code about nodes."""
