"""Nested zones: rules for zones above and below other zones."""
