"""Normalize and compare the spelling of names and addresses, and find browser names, without the database."""
