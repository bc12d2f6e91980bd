"""Publish: encode the log as LMDB files and signed segments. This package contains no code about nodes."""
