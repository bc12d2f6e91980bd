"""Rules for nested zones: zones that are above or below other zones."""
