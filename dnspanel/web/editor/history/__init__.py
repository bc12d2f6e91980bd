"""Revisions and publications, and the ways back."""
