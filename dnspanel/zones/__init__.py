"""EDIT and PUBLISH: zones, RRsets, drafts, revisions and the log. Does not know that LMDB exists."""
