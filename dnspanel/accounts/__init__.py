"""WHO: users, roles and invitations."""
