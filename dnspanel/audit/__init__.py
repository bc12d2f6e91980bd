"""Send copies of the audit log to other systems. `accounts.audit` writes the log, and `zones.audit` verifies it."""
