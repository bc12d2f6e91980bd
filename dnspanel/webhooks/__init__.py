"""Webhooks, which send signed events to other servers until they arrive, and publish hooks."""
