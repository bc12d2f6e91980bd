"""Command that creates a new signing key, activates it at once, or retires the former keys."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from dnspanel.fleet.nodes import node_keys
from dnspanel.publish.errors import KeyRefused
from dnspanel.publish.keys.segment_signing import new_key, short


class Command(BaseCommand):
    help = (
        "Create a new signing key and send it to the nodes. The panel uses the new key when every active node accepts"
        " it. With --force, the panel uses the new key immediately. With --retire, nodes no longer accept former keys."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        act = parser.add_mutually_exclusive_group()
        act.add_argument("--force", action="store_true", help="use the new key even if some nodes do not have it yet")
        act.add_argument("--retire", action="store_true", help="let nodes accept only the key in use")

    def handle(self, *args: Any, force: bool, retire: bool, **options: Any) -> None:
        now = timezone.now()
        try:
            if retire:
                self.stdout.write(f"Former keys retired: {node_keys.retire_former(now=now, by=None)}.")
            elif force:
                if new_key() is None:
                    node_keys.rotate(now=now, by=None)
                key = node_keys.force(now=now, by=None)
                self.stdout.write(f"The key {short(key)} is in use." if key else "There is no new key.")
            else:
                key = node_keys.rotate(now=now, by=None)
                self.stdout.write(f"The key {short(key)} was created. The nodes get this key within a minute.")
        except KeyRefused as exc:
            raise CommandError(str(exc)) from exc
