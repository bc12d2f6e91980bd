"""Webhooks, which send signed events to other servers until they are delivered, and publish hooks."""
