"""Drafts: unpublished changes, under a name or not, and those that were discarded."""
