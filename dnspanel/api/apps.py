"""The Django app for the APIs, which has its own tables."""

from django.apps import AppConfig


class ApiConfig(AppConfig):
    """The configuration of the Django app `dnspanel.api`."""

    name = "dnspanel.api"
    label = "api"
