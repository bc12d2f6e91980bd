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
    help = "Write an archive of all data that cannot be rebuilt. PANEL_MASTER_KEY is not included: keep a copy of it."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", metavar="FILE", help="the file to write; - writes to standard output")

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
            f"Saved {manifest.counts['zones']} zones and {manifest.counts['RRsets']} RRsets at publication"
            f" {manifest.sequence}: {manifest.size} bytes, SHA-256 {manifest.sha256}"
        )
        self.stderr.write("Keep a copy of PANEL_MASTER_KEY in another place: without it, no secret can be decrypted.")
