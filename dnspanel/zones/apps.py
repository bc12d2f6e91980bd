from django.apps import AppConfig
from django.db.models.signals import post_migrate


class ZonesConfig(AppConfig):
    name = "dnspanel.zones"

    def ready(self) -> None:
        from dnspanel.conditions import register
        from dnspanel.wake import wake_after
        from dnspanel.zones.conditions import SUBJECT
        from dnspanel.zones.log.sequence_log import open_log
        from dnspanel.zones.signals import change_run_begun, run_begun
        from dnspanel.zones.tasks import run_changes, run_policies

        post_migrate.connect(open_log, sender=self, dispatch_uid="open_log")
        wake_after(run_begun, run_policies, "run_id")
        wake_after(change_run_begun, run_changes, "run_id")
        register(SUBJECT)
