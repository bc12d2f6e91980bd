"""The keys that sign segments, and those that seal DNSSEC keys."""
