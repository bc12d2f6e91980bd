"""Detect problems of the fleet and the panel, and send alerts about them by mail and webhook."""
