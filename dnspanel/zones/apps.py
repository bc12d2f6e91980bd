from django.apps import AppConfig


class ZonesConfig(AppConfig):
    name = "dnspanel.zones"
