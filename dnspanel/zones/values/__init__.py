"""Texts of zones and their records, from values to values: what every other room may use."""
