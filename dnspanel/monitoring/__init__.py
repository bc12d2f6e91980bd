"""Monitoring of the panel from outside: the collector's process, and `/metrics` for Prometheus."""
