"""Alerts as a Django app."""

from django.apps import AppConfig


class AlertsConfig(AppConfig):
    """The app of alerts and their recipients."""

    name = "dnspanel.alerts"
    label = "alerts"

    def ready(self) -> None:
        from dnspanel.alerts.panel_conditions import SUBJECT
        from dnspanel.conditions import register

        register(SUBJECT)
