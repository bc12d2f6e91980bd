"""Normalize and compare the spelling of names and addresses, without the database."""
