"""The command that clears unreadable secrets after the master key was lost, and makes the new key valid."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand
from django.utils import timezone

from dnspanel.accounts.secrets.master_keys import own_keys
from dnspanel.backup.lost_key import clear, lost_secrets, zones_without_keys


class Command(BaseCommand):
    help = (
        "Lists secrets that PANEL_MASTER_KEY does not decrypt. With --clear they are given up, the new key counts, and"
        " every node has to be enrolled again."
    )
    requires_system_checks: list[str] = []  # the checks would refuse the new key

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--clear", action="store_true", help="give up what is listed; there is no way back")

    def handle(self, *args: Any, **options: Any) -> None:
        found = list(lost_secrets())
        for lost in found:
            self.stdout.write(f"{lost.place}: {len(lost.rows)} cannot be read, would be {lost.outcome}")
        for zone in zones_without_keys():
            self.stdout.write(f"{zone}: is signed with a key that cannot be read, would not be signed")
        if not found:
            self.stdout.write("every secret can be read")
        elif options["clear"]:
            clear(now=timezone.now())
            self.stdout.write(
                f"cleared; the key {next(iter(own_keys()))} counts. Start the panel, and enroll each node."
            )
        else:
            self.stdout.write("nothing was changed; --clear gives up what is listed")
