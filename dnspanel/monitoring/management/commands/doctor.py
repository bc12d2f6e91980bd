"""The command that checks the installation and says what is wrong."""

import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand
from django.utils import timezone

from dnspanel.monitoring.doctor.diagnosis import diagnose
from dnspanel.monitoring.doctor.findings import UNCHECKED
from dnspanel.monitoring.doctor.support_bundle import log_lines, write_bundle


class Command(BaseCommand):
    help = "Checks this installation. Status 0: healthy, 1: something is wrong, 2: a check could not be done."
    # The doctor reports them itself, instead of ending with the first error.
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", help="write the report as JSON")
        parser.add_argument("--bundle", metavar="FILE", help="write a tar file for a bug report; -: standard output")
        parser.add_argument("--log", metavar="FILE", action="append", default=[], help="log for it; -: standard input")

    def handle(self, *args: Any, **options: Any) -> None:
        report, place = diagnose(now=timezone.now()), options["bundle"]
        try:
            if place:
                write_bundle(None if place == "-" else Path(place), report, log_lines(options["log"]))
        except OSError as exc:
            self.stderr.write(f"{exc}")
            sys.exit(UNCHECKED)
        out = self.stderr if place == "-" else self.stdout
        out.write(report.to_json() if options["json"] else report.to_text(), ending="")
        sys.exit(report.status)
