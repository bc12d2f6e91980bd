"""The command `audit_verify`, which verifies the audit log against its chain."""

import argparse
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from dnspanel.zones.audit.audit_links import link_new_acts
from dnspanel.zones.audit.audit_verify import Anchor, verify_chain


class Command(BaseCommand):
    help = (
        "Check every audit entry and publication against the chain of hashes: none was changed, removed or inserted. "
        "Print the last number and hash. Store them outside the panel: with --anchor, they later prove that the chain "
        "was not rewritten. The exit status is 1 if anything differs."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument(
            "--anchor",
            action="append",
            default=[],
            type=_anchor,
            metavar="NUMBER:HASH",
            help="a number and hash from an earlier check; repeatable",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        link_new_acts()
        verdict = verify_chain(options["anchor"])
        for fault in verdict.faults:
            self.stdout.write(fault)
        if verdict.faults:
            raise CommandError("The audit log does not match its chain.")
        self.stdout.write(f"{verdict.linked} entries match the chain. {verdict.waiting} entries have no number yet.")
        self.stdout.write(f"{verdict.linked}:{verdict.hash}")


def _anchor(text: str) -> Anchor:
    number, _, digits = text.partition(":")
    try:
        return Anchor(int(number), bytes.fromhex(digits))
    except ValueError as exc:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number and a hash, such as 412:ab12…") from exc
