"""API v2: our own."""
