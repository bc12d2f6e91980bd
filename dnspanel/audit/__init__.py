"""Copies of the audit log outside of the panel. `accounts.audit` writes the log, and `zones.audit` verifies it."""
