"""Template tags of the panel."""
