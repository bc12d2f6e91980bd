"""Accounts of people: rights, teams, tokens, sign-in and the audit log."""
