"""The command that clears unreadable secrets after the master key was lost, and makes the new key valid."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand
from django.utils import timezone

from dnspanel.accounts.secrets.master_keys import own_keys
from dnspanel.backup.lost_key import clear, lost_secrets, zones_without_keys


class Command(BaseCommand):
    help = (
        "List the secrets that PANEL_MASTER_KEY cannot decrypt. With --clear, clear these secrets and make the new key"
        " valid. Every node must then be enrolled again."
    )
    requires_system_checks: list[str] = []  # the checks would refuse the new key

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--clear", action="store_true", help="clear the listed secrets; you cannot undo this")

    def handle(self, *args: Any, **options: Any) -> None:
        found = list(lost_secrets())
        for lost in found:
            self.stdout.write(f"{lost.place}: {len(lost.rows)} cannot be decrypted, would be {lost.outcome}")
        for zone in zones_without_keys():
            self.stdout.write(f"{zone}: a private key is missing or cannot be decrypted, would not be signed")
        if not found:
            self.stdout.write("Every secret can be decrypted.")
        elif options["clear"]:
            clear(now=timezone.now())
            self.stdout.write(
                f"Cleared. The key {next(iter(own_keys()))} is now valid. Start the panel, and enroll each node again."
            )
        else:
            self.stdout.write("Nothing was changed. To clear the listed secrets, add --clear.")
