"""Encrypt all secrets with a new master key while the panel runs."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from dnspanel.accounts.errors import RotationRefused
from dnspanel.accounts.secrets.database_key import RUNBOOK
from dnspanel.accounts.secrets.key_rotation import begin_rotation, end_rotation, rewrite, wait_for_writers

# Each pass finds the secrets that were written during the previous one. The second usually finds none.
_PASSES = 10


class Command(BaseCommand):
    help = (
        "Encrypt every secret with PANEL_MASTER_KEY instead of PANEL_MASTER_KEY_OLD. Restart all processes with both"
        " keys first. If the command was interrupted, run it again: it continues where it stopped."
    )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            key = begin_rotation(now=timezone.now())
            self.stdout.write(f"new key {key.fingerprint}, former key {key.former or '(none)'}")
            if key.former:
                wait_for_writers()
            secrets = self._rewrite()
        except RotationRefused as exc:
            raise CommandError(str(exc)) from exc
        former = end_rotation(now=timezone.now(), secrets=secrets)
        if former:
            self.stdout.write(
                f"done: {secrets} secrets are encrypted with the key {key.fingerprint}. Unset PANEL_MASTER_KEY_OLD and"
                f" restart all processes. Keep the key {former}: you need it to restore backups made before now."
            )
        else:
            self.stdout.write(f"done: all {secrets} secrets were already encrypted with this key. Nothing was changed.")

    def _rewrite(self) -> int:
        """Rewrite secrets until no secret is encrypted with an old key. Return the total number of secrets.

        Raise CommandError if a secret can't be decrypted, or if secrets with an old key keep appearing.
        """
        for number in range(1, _PASSES + 1):
            found = rewritten = 0
            lost = []
            for place in rewrite():
                found, rewritten = found + place.found, rewritten + place.rewritten
                if place.found:
                    self.stdout.write(f"pass {number}: {place.place}: {place.found} found, {place.rewritten} rewritten")
                if place.lost:
                    lost.append(f"{place.lost} of {place.place}")
            if lost:
                raise CommandError(
                    f"No key decrypts these secrets: {', '.join(lost)}. Set their key as PANEL_MASTER_KEY_OLD, and run"
                    f" this command again. If their key is lost, run forget_lost_secrets: {RUNBOOK}."
                )
            if not rewritten:
                return found
        raise CommandError("Secrets with the former key keep appearing: a process still runs without the new key.")
