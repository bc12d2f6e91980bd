from django.apps import AppConfig


class TransferConfig(AppConfig):
    name = "dnspanel.transfer"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from dnspanel.transfer.signals import work_to_do
        from dnspanel.transfer.tasks import ring_bulk

        work_to_do.connect(ring_bulk, dispatch_uid="ring the bulk workers")
