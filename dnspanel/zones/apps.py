from django.apps import AppConfig
from django.db.models.signals import post_migrate


class ZonesConfig(AppConfig):
    name = "dnspanel.zones"

    def ready(self) -> None:
        from dnspanel.zones.sequence_log import open_log

        post_migrate.connect(open_log, sender=self, dispatch_uid="open_log")
