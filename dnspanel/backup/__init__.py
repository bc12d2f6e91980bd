"""Backup and restore of the panel, each with one command."""
