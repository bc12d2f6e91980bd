"""Backup and restore of the panel, each by one command."""
