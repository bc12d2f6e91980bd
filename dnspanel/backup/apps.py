"""The Django app for the backup commands."""

from django.apps import AppConfig


class BackupConfig(AppConfig):
    """The configuration of the backup app."""

    name = "dnspanel.backup"
    label = "backup"

    def ready(self) -> None:
        from dnspanel.backup.conditions import SUBJECT
        from dnspanel.conditions import register

        register(SUBJECT)
