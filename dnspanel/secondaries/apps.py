"""The Django app for secondaries."""

from django.apps import AppConfig


class SecondariesConfig(AppConfig):
    name = "dnspanel.secondaries"
    label = "secondaries"

    def ready(self) -> None:
        from dnspanel.conditions import register
        from dnspanel.fleet.signals import transfers_questioned
        from dnspanel.publish.signals import segment_sealed
        from dnspanel.secondaries.arrival import secondaries_before
        from dnspanel.secondaries.conditions import SUBJECT
        from dnspanel.secondaries.signals import changed, moves_read
        from dnspanel.secondaries.tasks import drive_secondaries, follow_members, wake_after_publication
        from dnspanel.wake import wake_after

        segment_sealed.connect(wake_after_publication, dispatch_uid="notify the secondaries")
        transfers_questioned.connect(secondaries_before, dispatch_uid="secondaries that rollovers wait for")
        wake_after(changed, drive_secondaries)
        wake_after(moves_read, follow_members)  # members enter the catalog to which they move
        register(SUBJECT)
