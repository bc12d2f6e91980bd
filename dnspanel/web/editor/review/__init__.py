"""The review of a draft, and of requests."""
