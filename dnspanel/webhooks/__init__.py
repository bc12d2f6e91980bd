"""Webhooks: signed events for other people's servers, sent until they are received."""
