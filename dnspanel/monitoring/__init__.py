"""Monitor the panel: the collector process, health checks, and `/metrics` for Prometheus."""
