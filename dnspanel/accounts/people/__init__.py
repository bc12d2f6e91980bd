"""People and teams: invitations, roles, memberships, and each person's own settings."""
