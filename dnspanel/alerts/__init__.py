"""Alerts: what is wrong with the fleet or the panel, in words, told to people by mail and webhook."""
