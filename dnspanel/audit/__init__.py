"""Copies of the audit log outside of the panel. `accounts.audit` writes it, and `zones.audit` verifies it."""
