from django.apps import AppConfig


class FleetConfig(AppConfig):
    name = "dnspanel.fleet"
