from django.apps import AppConfig
from django.db.models.signals import post_migrate


class ZonesConfig(AppConfig):
    name = "dnspanel.zones"

    def ready(self) -> None:
        from dnspanel.zones.sequence_log import open_log
        from dnspanel.zones.signals import run_begun
        from dnspanel.zones.tasks import wake_worker

        post_migrate.connect(open_log, sender=self, dispatch_uid="open_log")
        run_begun.connect(wake_worker, dispatch_uid="wake a worker for DNSSEC policies")
