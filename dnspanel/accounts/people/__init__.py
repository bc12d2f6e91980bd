"""People and teams: invitations, changes, and settings of their own."""
