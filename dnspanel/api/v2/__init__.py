"""API v2, the panel's own API."""
