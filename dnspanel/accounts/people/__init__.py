"""Manage users and teams: invitations, roles, memberships, and each user's own settings."""
