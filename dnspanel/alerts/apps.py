"""The Django app of alerts."""

from django.apps import AppConfig


class AlertsConfig(AppConfig):
    name = "dnspanel.alerts"
    label = "alerts"

    def ready(self) -> None:
        from dnspanel.alerts.panel_conditions import SUBJECT
        from dnspanel.conditions import register

        register(SUBJECT)
