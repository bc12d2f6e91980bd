"""Rdata in labelled fields: what each type is made of, and text from fields and fields from text."""
