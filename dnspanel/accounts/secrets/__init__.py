"""Secrets in the database, and the master keys that encrypt them."""
