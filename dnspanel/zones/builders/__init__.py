"""Builders: short forms that create the records for one purpose (SPF, a mail provider) and keep other records."""
