"""Rules of zones and records: what each value, name and zone must keep to."""
