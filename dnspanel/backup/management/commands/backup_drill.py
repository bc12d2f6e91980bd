"""The command that tests whether an archive can be restored."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from dnspanel.backup.drill import drill
from dnspanel.backup.errors import BackupError
from dnspanel.fleet.nodes.heartbeats import DRILL, beat


class Command(BaseCommand):
    help = "Restore an archive into a temporary database, check this database, and drop it. The panel keeps running."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", metavar="FILE", help="the archive")

    def handle(self, *args: Any, **options: Any) -> None:
        failed = 0
        try:
            with Path(options["file"]).open("rb") as archive:
                for finding in drill(file=archive, now=timezone.now()):
                    failed += not finding.is_well
                    self.stdout.write(
                        f"ok      {finding.what}" if finding.is_well else f"FAILED  {finding.what}: {finding.found}"
                    )
        except (BackupError, OSError) as exc:
            raise CommandError(str(exc)) from exc
        if failed:
            raise CommandError(f"{failed} checks failed: do not rely on this archive")
        beat(process=DRILL, now=timezone.now())
