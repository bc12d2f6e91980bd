"""The Django app of alerts."""

from django.apps import AppConfig


class AlertsConfig(AppConfig):
    """The configuration of the Django app `dnspanel.alerts`."""

    name = "dnspanel.alerts"
    label = "alerts"

    def ready(self) -> None:
        from dnspanel.alerts.panel_conditions import SUBJECT
        from dnspanel.conditions import register

        register(SUBJECT)
