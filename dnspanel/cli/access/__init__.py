"""Commands for rights, tokens, TSIG keys, webhooks and the audit log."""
