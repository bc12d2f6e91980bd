"""Catalogs of others as a Django app."""

from django.apps import AppConfig


class CatalogsConfig(AppConfig):
    """Catalog zones that are followed."""

    name = "dnspanel.catalogs"
    label = "catalogs"

    def ready(self) -> None:
        from dnspanel.catalogs.signals import due
        from dnspanel.catalogs.tasks import wake_follower, wake_for_catalog
        from dnspanel.primaries.signals import landed

        due.connect(wake_follower, dispatch_uid="follow what is due")
        landed.connect(wake_for_catalog, dispatch_uid="follow a catalog that came")
