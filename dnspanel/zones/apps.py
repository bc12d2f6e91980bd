from django.apps import AppConfig
from django.db.models.signals import post_migrate


class ZonesConfig(AppConfig):
    name = "dnspanel.zones"

    def ready(self) -> None:
        from dnspanel.conditions import register
        from dnspanel.zones.conditions import SUBJECT
        from dnspanel.zones.log.sequence_log import open_log
        from dnspanel.zones.signals import change_run_begun, run_begun
        from dnspanel.zones.tasks import wake_worker, wake_worker_for_changes

        post_migrate.connect(open_log, sender=self, dispatch_uid="open_log")
        run_begun.connect(wake_worker, dispatch_uid="wake a worker for DNSSEC policies")
        change_run_begun.connect(wake_worker_for_changes, dispatch_uid="wake a worker for changes of many zones")
        register(SUBJECT)
