"""Monitoring of the panel: the collector's process, health checks, and `/metrics` for Prometheus."""
