"""Check a zone's parent immediately when a person requests it. Verbs."""

from datetime import datetime

from django.db import transaction

from dnspanel.accounts.actors.actors import Author
from dnspanel.fleet.dnssec import parent_checks
from dnspanel.fleet.tasks import check_parent
from dnspanel.wake import wake
from dnspanel.zones.models import Zone


def ask_parent(*, zone: Zone, now: datetime, by: Author) -> None:
    """Request an immediate check of the DS records at the zone's parent.

    Raise RightMissing if the author lacks the DNSSEC right, and NotSigned if the panel doesn't check this zone's
    parent. If the broker is down, the call takes a few seconds longer, and beat starts the check later.
    """
    with transaction.atomic(durable=True):
        parent_checks.ask_now(zone=zone, now=now, by=by)
        transaction.on_commit(lambda: wake(check_parent, zone.pk), robust=True)
