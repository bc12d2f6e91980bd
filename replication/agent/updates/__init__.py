"""Pushes and snapshots: write, purge, prove."""
