"""The gateway as a Django app: it has a management command and one table."""

from django.apps import AppConfig


class GatewayConfig(AppConfig):
    """The process that speaks DNS UPDATE."""

    name = "dnspanel.gateway"
    label = "gateway"
