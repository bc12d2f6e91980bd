"""Manage the keys that sign segments, and the keys that seal DNSSEC keys."""
