"""The nesting of zones: zones below and above others."""
