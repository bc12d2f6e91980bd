"""Encode the change log as LMDB files and signed segments. This package doesn't depend on nodes."""
