"""The Django app for the APIs, which has its own tables."""

from django.apps import AppConfig


class ApiConfig(AppConfig):
    name = "dnspanel.api"
    label = "api"

    def ready(self) -> None:
        from dnspanel.api.v1.imported_metadata import apply_to_created
        from dnspanel.transfer.signals import zones_created

        zones_created.connect(apply_to_created, dispatch_uid="apply the metadata of imports")
