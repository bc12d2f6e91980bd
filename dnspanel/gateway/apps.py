"""The gateway as a Django app, with a management command and a table."""

from django.apps import AppConfig


class GatewayConfig(AppConfig):
    name = "dnspanel.gateway"
    label = "gateway"
