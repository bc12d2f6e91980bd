"""The API as a Django app: it has tables of its own."""

from django.apps import AppConfig


class ApiConfig(AppConfig):
    """The two APIs."""

    name = "dnspanel.api"
    label = "api"
