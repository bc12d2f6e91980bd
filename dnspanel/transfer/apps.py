from django.apps import AppConfig


class TransferConfig(AppConfig):
    name = "dnspanel.transfer"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from dnspanel.transfer.signals import work_to_do
        from dnspanel.transfer.tasks import wake_workers

        work_to_do.connect(wake_workers, dispatch_uid="wake the workers of transfers")
