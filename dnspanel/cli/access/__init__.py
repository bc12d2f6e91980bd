"""Commands that show rights, and manage tokens and the audit log."""
