"""The gateway as a Django app, with a management command and a table."""

from django.apps import AppConfig


class GatewayConfig(AppConfig):
    """The app for the process that answers DNS UPDATE and transfers."""

    name = "dnspanel.gateway"
    label = "gateway"
