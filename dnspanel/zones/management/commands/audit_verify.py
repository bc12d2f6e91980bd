"""The command `audit_verify`, which verifies the audit log against its chain."""

import argparse
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from dnspanel.zones.audit.audit_links import link_new_acts
from dnspanel.zones.audit.audit_verify import Anchor, verify_chain


class Command(BaseCommand):
    help = (
        "Reads every audit entry and publication and compares it with what was chained: none changed, none missing, "
        "none slipped in. Prints the last number and hash; kept elsewhere, they prove next time that the chain was not "
        "made anew. Ends with status 1 if anything differs."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "--anchor",
            action="append",
            default=[],
            type=_anchor,
            metavar="NUMBER:HASH",
            help="a number and hash from earlier; may be given several times",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        link_new_acts()
        verdict = verify_chain(options["anchor"])
        for fault in verdict.faults:
            self.stdout.write(fault)
        if verdict.faults:
            raise CommandError("The audit log is not what was chained.")
        self.stdout.write(f"{verdict.linked} acts are as they were chained; {verdict.waiting} wait for their link.")
        self.stdout.write(f"{verdict.linked}:{verdict.hash}")


def _anchor(text: str) -> Anchor:
    number, _, digits = text.partition(":")
    try:
        return Anchor(int(number), bytes.fromhex(digits))
    except ValueError as exc:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number and a hash, such as 412:ab12…") from exc
