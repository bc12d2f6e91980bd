"""Backup as a Django app, for its commands."""

from django.apps import AppConfig


class BackupConfig(AppConfig):
    """Backup and restore."""

    name = "dnspanel.backup"
    label = "backup"

    def ready(self) -> None:
        from dnspanel.backup.conditions import SUBJECT
        from dnspanel.conditions import register

        register(SUBJECT)
