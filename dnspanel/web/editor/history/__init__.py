"""Pages that show and revert revisions and publications."""
