"""Commands that show rights, and manage tokens, TSIG keys, webhooks and the audit log."""
