"""The Django app of catalog zones."""

from django.apps import AppConfig


class CatalogsConfig(AppConfig):
    """The configuration of the app `catalogs`."""

    name = "dnspanel.catalogs"
    label = "catalogs"

    def ready(self) -> None:
        from dnspanel.catalogs.conditions import SUBJECT
        from dnspanel.catalogs.signals import due, produced
        from dnspanel.catalogs.tasks import follow_producers_now, wake_follower, wake_for_catalog
        from dnspanel.conditions import register
        from dnspanel.primaries.signals import landed

        due.connect(wake_follower, dispatch_uid="follow what is due")
        produced.connect(follow_producers_now, dispatch_uid="catalogs of ours follow their members")
        landed.connect(wake_for_catalog, dispatch_uid="follow a catalog that came")
        register(SUBJECT)
