"""Encrypt secrets in the database, and manage the master keys."""
