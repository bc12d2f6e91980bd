"""Stored objects: segments, snapshots, and how long they are kept."""
