"""Spellings of names and addresses, as functions without a database."""
