"""Editing and publishing: zones, RRsets, drafts, revisions and the log. This package does not know that LMDB exists."""
