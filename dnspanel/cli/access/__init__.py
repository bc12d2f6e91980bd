"""Commands for rights, teams, directories, tokens, webhooks, publish hooks and the audit log."""
