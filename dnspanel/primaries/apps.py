"""The Django app for transferred zones and their primaries."""

from django.apps import AppConfig


class PrimariesConfig(AppConfig):
    name = "dnspanel.primaries"
    label = "primaries"

    def ready(self) -> None:
        from dnspanel.conditions import register
        from dnspanel.primaries.conditions import SUBJECT
        from dnspanel.primaries.signals import due
        from dnspanel.primaries.tasks import transfer_due
        from dnspanel.wake import wake_after

        wake_after(due, transfer_due)
        register(SUBJECT)
