"""How the panel is watched from outside: the collector's process, and `/metrics` for Prometheus."""
