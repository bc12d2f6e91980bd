"""Rules for zones and records: the requirements on values, names and zones."""
