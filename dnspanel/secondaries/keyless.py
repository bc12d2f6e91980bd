"""Set up a zone's transfers without a key, and its additional NOTIFY addresses. Verbs.

PowerDNS stores these settings as metadata of the zone (ALLOW-AXFR-FROM, ALSO-NOTIFY). API v1 sets them here.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction

from dnspanel.accounts.actors.actors import Author, Right, user_of
from dnspanel.accounts.audit import audit
from dnspanel.database.sql import execute
from dnspanel.secondaries import members
from dnspanel.secondaries.errors import KeylessRefused
from dnspanel.secondaries.models import Member, NoticeAddress, NoticeMark, OpenZone
from dnspanel.secondaries.set_up_secondaries import checked_addresses, checked_networks
from dnspanel.secondaries.signals import changed
from dnspanel.texts import gettext
from dnspanel.zones.models import Zone
from dnspanel.zones.rights import access

_NOTE = """
UPDATE secondaries_noticeaddress a SET notify_at = %(now)s, attempts = 0
FROM zones_zone z
WHERE z.id = a.zone_id AND z.deleted_at IS NULL AND (z.is_served OR z.is_catalog AND z.transferred_from = '')
AND EXISTS (
    SELECT FROM zones_revision r
    WHERE r.zone_id = a.zone_id AND r.publication_id > %(since)s AND r.publication_id <= %(head)s
)"""


@dataclass(frozen=True, slots=True)
class Keyless:
    """A zone's settings for transfers without a key and for NOTIFY. Each row also has the setting's author and time."""

    opened: OpenZone | None
    notified: list[NoticeAddress]  # sorted by address

    @property
    def networks(self) -> list[str]:
        return list(self.opened.networks) if self.opened else []

    @property
    def addresses(self) -> list[str]:
        return [each.address for each in self.notified]


def keyless_of(zone: Zone) -> Keyless:
    """Return the zone's settings for transfers without a key and for NOTIFY, with two queries."""
    opened = OpenZone.objects.filter(zone=zone).select_related("set_by").first()
    return Keyless(opened, list(NoticeAddress.objects.filter(zone=zone).select_related("set_by").order_by("address")))


def open_to(*, zone: Zone, networks: Sequence[str], by: Author, now: datetime) -> None:
    """Let clients in these networks transfer the zone without a key. An empty list closes the zone.

    Raise RightMissing if the author isn't allowed to change the zone's settings. Raise KeylessRefused for invalid
    networks, or if the author can't see the whole zone.
    """
    access.require_right(by, zone, Right.SETTINGS)
    if by is not None and access.visibility_of(by, zone) is not None:
        message = gettext("Only people who can see all records in a zone can open it to networks.")
        raise KeylessRefused(message, field="networks")
    faults: dict[str, list[str]] = {}
    checked = checked_networks(networks, faults)
    _refuse(faults)
    with transaction.atomic():
        before = list(OpenZone.objects.filter(zone=zone).values_list("networks", flat=True))
        if checked != (before[0] if before else []):
            if checked:
                values = {"networks": checked, "set_by": user_of(by), "set_at": now}
                OpenZone.objects.update_or_create(zone=zone, defaults=values)
            else:
                OpenZone.objects.filter(zone=zone).delete()
            audit.record(action="zone.open", by=by, now=now, target=zone.name, before=before[:1], after=checked)


def notify_also(*, zone: Zone, addresses: Sequence[str], by: Author, now: datetime) -> None:
    """Set the zone's NOTIFY addresses that aren't secondaries. Notify new ones now, and all after each publication.

    Raise RightMissing if the author isn't allowed to change the zone's settings. Raise KeylessRefused if an address is
    invalid or the panel isn't allowed to send to it.
    """
    access.require_right(by, zone, Right.SETTINGS)
    faults: dict[str, list[str]] = {}
    checked = checked_addresses(addresses, faults) if addresses else []
    _refuse(faults)
    with transaction.atomic():
        if not NoticeAddress.objects.exists():  # publications were not followed until now
            NoticeMark.objects.update_or_create(pk=1, defaults={"sequence": members.head()})
        of_zone = NoticeAddress.objects.filter(zone=zone)
        before = set(of_zone.values_list("address", flat=True))
        of_zone.exclude(address__in=checked).delete()
        come = [
            NoticeAddress(zone=zone, address=each, notify_at=now, set_by=user_of(by), set_at=now)
            for each in checked
            if each not in before
        ]
        NoticeAddress.objects.bulk_create(come, ignore_conflicts=True)
        if before != set(checked):
            audit.record(
                action="zone.notify_also", by=by, now=now, target=zone.name, before=sorted(before), after=checked
            )
        transaction.on_commit(lambda: changed.send(sender=NoticeAddress), robust=True)


def change(*, zone: Zone, networks: Sequence[str], addresses: Sequence[str], by: Author, now: datetime) -> None:
    """Change the zone's networks and addresses in one transaction. Raise the errors of `open_to` and `notify_also`."""
    with transaction.atomic():
        open_to(zone=zone, networks=networks, by=by, now=now)
        notify_also(zone=zone, addresses=addresses, by=by, now=now)


def notify_zone(*, zone: Zone, now: datetime) -> int:
    """Queue NOTIFY to all of the zone's active secondaries and addresses. Return their number. Doesn't check rights."""
    with transaction.atomic():
        of_zone = Member.objects.filter(zone=zone, until=None, secondary__active=True)
        count = of_zone.update(notify_at=now, attempts=0, question_at=now)
        count += NoticeAddress.objects.filter(zone=zone).update(notify_at=now, attempts=0)
        if count:
            transaction.on_commit(lambda: changed.send(sender=NoticeAddress), robust=True)
    return count


def note_publications(*, now: datetime) -> int:
    """Queue NOTIFY to each address of zones that were published since the last run.

    Return the number of addresses. A repeated call doesn't queue anything twice.
    """
    with transaction.atomic():
        if not NoticeAddress.objects.exists():
            return 0
        mark, _ = NoticeMark.objects.select_for_update().get_or_create(pk=1)
        newest = members.head()
        if mark.sequence >= newest:
            return 0
        count = execute(_NOTE, {"now": now, "since": mark.sequence, "head": newest})
        NoticeMark.objects.update(sequence=newest)
        return count


def _refuse(faults: dict[str, list[str]]) -> None:
    for field, messages in faults.items():
        raise KeylessRefused(" ".join(messages), field=field)
