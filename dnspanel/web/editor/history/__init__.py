"""Pages of revisions and publications, and ways to revert them."""
