"""Monitoring as a Django app, with its management command."""

from django.apps import AppConfig


class MonitoringConfig(AppConfig):
    """The app of the collector and `/metrics`."""

    name = "dnspanel.monitoring"
    label = "monitoring"
