"""Record divergences (zones whose rows on a node differ from the panel's) and their repairs. Verbs."""

import logging
from collections.abc import Iterable
from datetime import datetime

from django.db import transaction
from django.db.models import Q

from dnspanel.fleet import events
from dnspanel.fleet.models import Divergence, Node
from dnspanel.texts import gettext, joined
from dnspanel.zones.models import Zone

# If everything on a node differs, only this many zones are named, and the others are counted.
_MOST_NOTED = 5

logger = logging.getLogger(__name__)


def record_found(*, node_id: int, zones: Iterable[tuple[int, str, str]], now: datetime) -> None:
    """Record zones (id, name, difference) that a node newly reports as different, and add events for them."""
    zones = list(zones)
    known = dict(Zone.objects.filter(pk__in=[zone_id for zone_id, _, _ in zones]).values_list("pk", "name"))
    with transaction.atomic():
        is_open = Divergence.objects.filter(node_id=node_id, repaired_at=None)
        before = set(is_open.values_list("zone_id", flat=True))
        new = [
            (zone_id, known.get(zone_id, name), description)
            for zone_id, name, description in zones
            if zone_id not in before
        ]
        Divergence.objects.bulk_create(
            [
                Divergence(node_id=node_id, zone_id=zone_id, zone_name=name, words=description, found_at=now)
                for zone_id, name, description in new
            ],
            ignore_conflicts=True,
        )
        for _, name, description in new[:_MOST_NOTED]:
            _note(
                node_id,
                gettext("{name}: {description}.").format(name=name, description=description)
                if name
                else gettext("Database files: {description}.").format(description=description),
                now,
            )
        if len(new) > _MOST_NOTED:
            more = gettext("{count} more zones differ from the panel’s.").format(count=len(new) - _MOST_NOTED)
            _note(node_id, more, now)
    for zone_id, name, description in new:
        logger.error("diverged node_id=%s zone_id=%s zone=%s: %s", node_id, zone_id, name, description)


def record_repaired(*, node_id: int, zone_id: int, zone_name: str, differences: Iterable[str], now: datetime) -> None:
    """Record that a diverged zone on the node matches the panel's again, unless this is already recorded.

    `differences` were found by a row-by-row comparison before the repair.
    """
    found = "; ".join(differences)
    row = Divergence.objects.filter(node_id=node_id, zone_id=zone_id).order_by("-found_at", "-pk").first()
    # A comparison can report success before the node's own report arrives. The report then still contains news.
    if row is None or (row.repaired_at is not None and (not found or found in row.words)):
        return
    row.zone_name, row.repaired_at, row.error = zone_name or row.zone_name, now, ""
    row.words = joined(": ", (row.words, found)) if found else row.words
    with transaction.atomic():
        row.save(update_fields=["zone_name", "words", "repaired_at", "error"])
        _note(node_id, _repaired_message(row.zone_name, found), now)
    logger.warning("repaired node_id=%s zone_id=%s zone=%s: %s", node_id, zone_id, row.zone_name, found)


def _repaired_message(zone_name: str, found: str) -> str:
    values = {"name": zone_name, "found": found or gettext("no differences left")}
    message = gettext("{name}: repaired ({found}).") if zone_name else gettext("Database files: repaired ({found}).")
    return message.format(**values)


def record_failed(*, node_id: int, zone_id: int, error: str) -> None:
    """Record that the repair of the zone failed. The next attempt overwrites the error."""
    Divergence.objects.filter(node_id=node_id, zone_id=zone_id, repaired_at=None).update(error=error)


def record_over(*, node_id: int, now: datetime) -> None:
    """Record that no zone on the node differs anymore. Write only if a zone differed before."""
    Divergence.objects.filter(node_id=node_id, repaired_at=None).update(repaired_at=now, error="")


def record_compared(*, node_id: int, is_equal: bool, now: datetime) -> None:
    """Record a comparison of the node's digest with the panel's. Add an event if they start to differ."""
    differs = ~Q(digest_equal=is_equal) | Q(digest_equal=None)
    is_news = Node.objects.filter(differs, pk=node_id).update(digest_equal=is_equal, digest_compared_at=now)
    if not is_news:
        Node.objects.filter(pk=node_id).update(digest_compared_at=now)
    elif not is_equal:
        _note(node_id, gettext("The node’s content differs from the panel’s at the same position."), now)


def _note(node_id: int, message: str, now: datetime) -> None:
    events.note(node_id=node_id, kind="diverged", message=message, now=now)
