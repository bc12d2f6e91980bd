"""The command that checks the installation and says what is wrong."""

import json
import os
import sys
from argparse import ArgumentParser
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand
from django.utils import timezone

from dnspanel.monitoring.doctor.diagnosis import diagnose
from dnspanel.monitoring.doctor.findings import Exit
from dnspanel.monitoring.doctor.support_bundle import write_bundle


class Command(BaseCommand):
    help = (
        "Checks this installation, and says what is wrong and what to do. Status 0: healthy, 1: something is wrong, 2: "
        "nothing is wrong as far as can be said, but a check could not be done."
    )
    # The doctor reports them itself, instead of ending with the first error.
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", help="write the report as JSON")
        parser.add_argument("--bundle", metavar="FILE", help="write a tar file for a bug report; -: stdout")
        parser.add_argument("--log", metavar="FILE", action="append", default=[], help="log in the tar file; -: stdin")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            report = diagnose(now=timezone.now())
            if options["bundle"]:
                self._write_bundle(options["bundle"], report, options["log"])
        except OSError as exc:
            self.stderr.write(f"{exc}")
            sys.exit(Exit.UNCHECKED)
        text = f"{json.dumps(report.to_json(), indent=2)}\n" if options["json"] else report.to_text()
        (self.stderr if options["bundle"] == "-" else self.stdout).write(text, ending="")
        sys.exit(report.status)

    def _write_bundle(self, place: str, report: Any, logs: list[str]) -> None:
        if place == "-":
            write_bundle(sys.stdout.buffer, report, _lines(logs))
            return
        # Only the owner can read it: a bundle without secrets still describes the installation.
        with open(os.open(place, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            write_bundle(file, report, _lines(logs))


def _lines(paths: list[str]) -> Iterator[str]:
    for path in paths:
        if path == "-":
            yield from (line.rstrip("\n") for line in sys.stdin)
        else:
            with Path(path).open(errors="replace") as log:
                yield from (line.rstrip("\n") for line in log)
