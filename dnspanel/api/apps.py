"""The Django app for the APIs, which has its own tables."""

from django.apps import AppConfig


class ApiConfig(AppConfig):
    name = "dnspanel.api"
    label = "api"
