"""Manage accounts: rights, teams, quotas, tokens, sign-in, directories, secrets and the audit log."""
