"""Webhooks: what happened, told to other people's servers, signed, until they have heard it."""
