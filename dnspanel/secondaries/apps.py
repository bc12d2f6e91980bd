"""Secondaries as a Django app."""

from django.apps import AppConfig


class SecondariesConfig(AppConfig):
    """Name servers that transfer zones from us."""

    name = "dnspanel.secondaries"
    label = "secondaries"

    def ready(self) -> None:
        from dnspanel.publish.signals import segment_sealed
        from dnspanel.secondaries.signals import changed
        from dnspanel.secondaries.tasks import wake_after_publication, wake_follower

        segment_sealed.connect(wake_after_publication, dispatch_uid="notify the secondaries")
        changed.connect(wake_follower, dispatch_uid="follow a changed secondary")
