"""The Django app of catalog zones."""

from django.apps import AppConfig


class CatalogsConfig(AppConfig):
    name = "dnspanel.catalogs"
    label = "catalogs"

    def ready(self) -> None:
        from dnspanel.catalogs.conditions import SUBJECT
        from dnspanel.catalogs.signals import due, produced
        from dnspanel.catalogs.tasks import follow_catalogs, follow_producers, wake_for_catalog
        from dnspanel.conditions import register
        from dnspanel.primaries.signals import landed
        from dnspanel.wake import wake_after

        wake_after(due, follow_catalogs)
        wake_after(produced, follow_producers)
        landed.connect(wake_for_catalog, dispatch_uid="follow a catalog that came")
        register(SUBJECT)
