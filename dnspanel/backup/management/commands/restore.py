"""The command that restores an archive."""

import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from dnspanel.backup.backup_archive import Manifest
from dnspanel.backup.errors import BackupError
from dnspanel.backup.restore_archive import restore


class Command(BaseCommand):
    help = "Restore an archive of `backup`. Publishing is then on hold until a person chooses the content to keep."
    requires_system_checks: list[str] = []  # the database may be empty
    requires_migrations_checks = False

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", metavar="FILE", help="the archive; - reads standard input")
        parser.add_argument("--replace", action="store_true", help="replace all data that is in the database now")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            manifest = self._restore(options["file"], replace=options["replace"])
        except (BackupError, OSError) as exc:
            raise CommandError(str(exc)) from exc
        self.stdout.write(f"Restored the backup of {manifest.made_at}: {manifest.counts['zones']} zones")
        self.stdout.write(
            "Publishing is on hold. Start the panel, open Nodes > Review hold, and choose the content to keep."
        )
        self.stdout.write("The panel then creates segments, snapshots and its LMDB again. You don't have to copy them.")

    def _restore(self, file: str, *, replace: bool) -> Manifest:
        if file == "-":
            return restore(file=sys.stdin.buffer, replace=replace, now=timezone.now())
        with Path(file).open("rb") as archive:
            return restore(file=archive, replace=replace, now=timezone.now())
