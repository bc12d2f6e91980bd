"""People and teams: invited, changed, and what they set for themselves."""
