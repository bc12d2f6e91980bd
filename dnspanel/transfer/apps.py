from django.apps import AppConfig


class TransferConfig(AppConfig):
    name = "dnspanel.transfer"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from dnspanel.transfer.imports.pace import give_way
        from dnspanel.transfer.signals import work_to_do
        from dnspanel.transfer.tasks import wake_workers
        from dnspanel.zones.signals import room_requested

        work_to_do.connect(wake_workers, dispatch_uid="wake the workers of transfers")
        room_requested.connect(give_way, dispatch_uid="large changes give way to edits")
