"""Rdata as labeled fields: the layout of each type, and conversion between fields and text."""
