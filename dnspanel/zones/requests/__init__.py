"""Requests for approval, and changes that wait for a time."""
