"""The panel's own processes: their heartbeats, and the last runs of periodic tasks."""
