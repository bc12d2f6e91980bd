"""Webhooks: signed events that are sent to other servers until they are received."""
