"""Commands about people, rights, tokens, webhooks and publish hooks."""
