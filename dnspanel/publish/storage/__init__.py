"""Stored objects: segments and snapshots, and how long they are kept."""
