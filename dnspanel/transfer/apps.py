from django.apps import AppConfig


class TransferConfig(AppConfig):
    name = "dnspanel.transfer"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from dnspanel.transfer.imports.import_pace import give_way
        from dnspanel.transfer.imports.taken_back import note_taken_back
        from dnspanel.transfer.signals import template_run_begun, work_to_do
        from dnspanel.transfer.tasks import run_template, wake_workers
        from dnspanel.wake import wake_after
        from dnspanel.zones.signals import publication_taken_back, room_requested

        work_to_do.connect(wake_workers, dispatch_uid="wake the workers of transfers")
        wake_after(template_run_begun, run_template, "run_id")
        publication_taken_back.connect(note_taken_back, dispatch_uid="imports say what was taken back")
        room_requested.connect(give_way, dispatch_uid="large changes give way to edits")
