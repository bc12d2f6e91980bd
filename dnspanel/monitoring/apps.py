"""The Django app for monitoring, with its management command."""

from django.apps import AppConfig


class MonitoringConfig(AppConfig):
    name = "dnspanel.monitoring"
    label = "monitoring"
