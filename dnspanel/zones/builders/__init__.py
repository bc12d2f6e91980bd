"""Builders: forms that create the records for one purpose (such as SPF) and keep all other records."""
