"""The command that writes an archive of the panel."""

import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from dnspanel.backup.errors import BackupError
from dnspanel.backup.make import back_up, back_up_to_file


class Command(BaseCommand):
    help = "Writes one archive with everything that cannot be made anew. PANEL_MASTER_KEY is not in it: keep that too."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", metavar="FILE", help="where to; - writes to standard output")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            if options["file"] == "-":
                manifest = back_up(file=sys.stdout.buffer, beside=None, now=timezone.now())
                sys.stdout.buffer.flush()
            else:
                manifest = back_up_to_file(path=Path(options["file"]).absolute(), now=timezone.now())
        except (BackupError, OSError) as exc:
            raise CommandError(str(exc)) from exc
        self.stderr.write(
            f"backed up {manifest.counts['zones']} zones, {manifest.counts['RRsets']} RRsets, head {manifest.sequence},"
            f" {manifest.size} bytes, sha256 {manifest.sha256}"
        )
        self.stderr.write("keep a copy of PANEL_MASTER_KEY in another place: without it, no key can be decrypted")
