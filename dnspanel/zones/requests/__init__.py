"""Requests for approval, and scheduled changes."""
