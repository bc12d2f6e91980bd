"""Builders: a few fields that make the records of a purpose, SPF or the mail of a provider, beside what is there."""
