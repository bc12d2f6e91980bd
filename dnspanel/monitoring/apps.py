"""Monitoring as a Django app, for its command."""

from django.apps import AppConfig


class MonitoringConfig(AppConfig):
    """The collector and `/metrics`."""

    name = "dnspanel.monitoring"
    label = "monitoring"
