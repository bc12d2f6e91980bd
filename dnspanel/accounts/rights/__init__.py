"""Grants and roles are given and taken back."""
