"""A person wants to know now what the parent of a zone has for it. Verbs."""

from datetime import datetime

from django.db import transaction

from dnspanel.accounts.actors.actors import Author
from dnspanel.fleet.dnssec import parent_checks
from dnspanel.fleet.tasks import check_parent
from dnspanel.wake import wake
from dnspanel.zones.models import Zone


def ask_parent(*, zone: Zone, now: datetime, by: Author) -> None:
    """Have a worker ask the parent of this zone soon. Raise RightMissing, and NotSigned where there is nothing to ask.

    A dead broker costs some seconds: the check is due, and beat finds it.
    """
    with transaction.atomic(durable=True):
        parent_checks.ask_now(zone=zone, now=now, by=by)
        transaction.on_commit(lambda: wake(check_parent, zone.pk), robust=True)
