"""Alerts: problems of the fleet and the panel, sent to people by mail and webhook."""
