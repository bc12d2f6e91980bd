"""Accounts: users, roles and invitations."""
