"""Alerts as a Django app."""

from django.apps import AppConfig


class AlertsConfig(AppConfig):
    """What is wrong, and who is told of it."""

    name = "dnspanel.alerts"
    label = "alerts"
