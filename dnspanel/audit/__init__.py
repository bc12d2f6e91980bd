"""The audit log outside of the panel. `accounts.audit` writes it, and `zones.audit` reads and proves it."""
