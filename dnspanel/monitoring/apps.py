"""The Django app for monitoring, with its management command."""

from django.apps import AppConfig


class MonitoringConfig(AppConfig):
    """The Django app of the collector and `/metrics`."""

    name = "dnspanel.monitoring"
    label = "monitoring"
