"""Spellings of names and addresses, from values to values."""
