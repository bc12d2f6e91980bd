"""Stored objects (segments, snapshots, prepared rows): storing, merging and deleting them, and damage."""
