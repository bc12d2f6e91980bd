"""Commands about rights, teams, directories, tokens, webhooks, publish hooks and the audit log."""
