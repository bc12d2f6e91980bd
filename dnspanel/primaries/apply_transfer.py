"""Publish the result of a transfer as a revision of its zone, and set the zone's timers. Verbs.

The panel itself is the author, and each zone has its own publication. Grants, rules and locks of this panel don't apply
to content from another server. Signatures in the zone are kept and served, as for an import.
"""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Case, DateTimeField, Q, QuerySet, Value, When

from dnspanel.accounts.actors.actors import SystemRight
from dnspanel.primaries.errors import TransferFailed
from dnspanel.primaries.models import WELL, TransferredZone
from dnspanel.primaries.primary_content import Transfer
from dnspanel.primaries.signals import landed
from dnspanel.primaries.timers import LEAST_GAP, Timers, due_after_failure
from dnspanel.texts import gettext, shortened
from dnspanel.zones.acting import Acting
from dnspanel.zones.dnssec.queries import signing_of
from dnspanel.zones.dnssec.signing_state import UNSIGNED, SigningState
from dnspanel.zones.errors import DnssecRefused, NamesRefused
from dnspanel.zones.log import panel_reasons
from dnspanel.zones.log.signing_log import record_ends, record_states, with_row_ids
from dnspanel.zones.models import Channel, Publication, Revision, Zone
from dnspanel.zones.names import nesting
from dnspanel.zones.publishing import bulk
from dnspanel.zones.publishing.transferred import stop_serving
from dnspanel.zones.signing.paused_denial import needs_pause, pause_denial, resume_denial
from dnspanel.zones.signing.presigned import end_of
from dnspanel.zones.signing.safety import refuse_bogus

# How long a primary can be unreachable before an alert. If the first failure is a wrong answer, the alert is immediate.
SILENT_FOR = timedelta(minutes=15)
MOST_EXPIRED = 500

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class TransferSource:
    """The primary's address, and its serial, which becomes the zone's serial."""

    address: str
    serial: int


def apply(
    *, row: TransferredZone, zone: Zone, transfer: Transfer, source: TransferSource, now: datetime
) -> Publication | None:
    """Publish the zone's transferred content with the primary's serial. Return None if nothing changes.

    If nodes could mix two NSEC or NSEC3 chains, first pause the denial of existence. Raise TransferFailed, and leave
    the content unchanged, if the zone was changed or taken over during the transfer, or would no longer validate.
    """
    before = signing_of(zone)
    after = with_row_ids({zone.pk: _signing(before, transfer)})[zone.pk]
    _refuse_bogus(zone, before, after)
    base, channel, reason = zone.revision, Channel.TRANSFER, _reason(source)
    pausing = before.presigned and after.presigned and zone.is_served
    if pausing and needs_pause(before, after.nsec3, len(transfer.changes)):
        pause_denial(zone_ids=[zone.pk], acting=Acting(None, channel, now, reason), in_transaction=_nothing)
        base = Zone.objects.values_list("revision", flat=True).get(pk=zone.pk)
        before = signing_of(zone)

    def in_transaction(publication: Publication) -> None:
        number = Revision.objects.values_list("number", flat=True).get(publication=publication, zone=zone)
        if after != before:
            record_states([(zone.pk, number, before, after)], now=now)
        if after.presigned or before.presigned:
            record_ends({zone.pk: end_of(transfer.signatures.end) if transfer.signatures else None})
            nesting.refuse_broken(zone_names=[zone.name])
        _note_transfer(row, zone, transfer, source, number, now)

    try:
        publication, left = bulk.change_zones(
            changes=[bulk.ZoneChange(zone.pk, base, transfer.changes)],
            acting=Acting(None, channel, now, reason),
            in_transaction=in_transaction,
            by_transfer=True,
            under=SystemRight.TRANSFER,
        )
    except NamesRefused as exc:
        raise TransferFailed(str(exc.first), is_refused=True) from exc
    if left:
        if base != zone.revision:
            resume_denial(zone_ids=[zone.pk], acting=Acting(None, channel, now, reason))
        raise TransferFailed(gettext("{name} was changed in this panel during the transfer.").format(name=zone.name))
    if publication is None:
        _note_transfer(row, zone, transfer, source, base, now)
    logger.info(
        "transferred in zone=%s from=%s how=%s serial=%d bytes=%d rrsets=%d",
        zone.name,
        source.address,
        transfer.how,
        source.serial,
        transfer.size,
        len(transfer.changes),
    )
    if publication is not None:
        landed.send_robust(sender=TransferredZone, zone=zone)
    return publication


def note_current(*, row: TransferredZone, timers: Timers, now: datetime) -> None:
    """Record that the zone's content is current. Clear its failures, and set its next refresh and its expiry."""
    _active(row).update(
        confirmed_at=now, expires_at=now + timers.expire, due_at=_next_turn(row, now + timers.refresh, now), **WELL
    )


def note_failure(*, row: TransferredZone, reason: str, is_refused: bool, timers: Timers | None, now: datetime) -> None:
    """Store the reason for a failed refresh, and set the time of the next attempt.

    The first failure sets the alert's time to SILENT_FOR later. If the panel refused an answer, set it to now, unless
    the alert's time has passed.
    """
    since = row.failed_since or now
    failures = row.failures + 1
    alert_at = row.alert_at or since + SILENT_FOR
    _active(row).update(
        failed_since=since,
        failures=failures,
        error=shortened(reason, 1000),
        due_at=_next_turn(row, due_after_failure(timers, failures, now), now),
        alert_at=min(alert_at, now) if is_refused else alert_at,
    )
    logger.warning("no transfer zone=%s refused=%s: %s", row.zone.name, is_refused, reason)


def expire_due(*, now: datetime) -> int:
    """Stop serving at most MOST_EXPIRED zones that passed their SOA expire time without a refresh. Return a count."""
    due = TransferredZone.objects.filter(expires_at__lte=now, zone__deleted_at=None).order_by("expires_at")
    zone_ids = list(due.values_list("pk", flat=True)[:MOST_EXPIRED])

    def in_transaction(publication: Publication) -> None:
        _forget_expiry(zone_ids, now)

    if not zone_ids:
        return 0
    reason = panel_reasons.EXPIRED_ZONE
    if (
        stop_serving(zone_ids=zone_ids, channel=Channel.TRANSFER, now=now, reason=reason, in_transaction=in_transaction)
        is None
    ):
        _forget_expiry(zone_ids, now)
    logger.warning("expired zones=%d", len(zone_ids))
    return len(zone_ids)


def _forget_expiry(zone_ids: Sequence[int], now: datetime) -> None:
    rows = TransferredZone.objects.filter(pk__in=zone_ids, expires_at__lte=now)
    rows.update(expires_at=None, alert_at=now)


def _note_transfer(
    row: TransferredZone, zone: Zone, transfer: Transfer, source: TransferSource, number: int, now: datetime
) -> None:
    timers = Timers.of(transfer.soa)
    note_current(row=row, timers=timers, now=now)
    _active(row).update(
        serial=source.serial,
        revision=number,
        transferred_at=now,
        transferred_how=transfer.how,
        transferred_from=source.address,
        transferred_bytes=transfer.size,
        wants_all=False,
    )


def _next_turn(row: TransferredZone, at: datetime, now: datetime) -> Case:
    """Return an expression for the time of the next refresh: `at`, or soon if a NOTIFY arrived during this refresh."""
    came_since = Q(noticed_at__isnull=False) if row.noticed_at is None else Q(noticed_at__gt=row.noticed_at)
    return Case(When(came_since, then=Value(now + LEAST_GAP)), default=Value(at), output_field=DateTimeField())


def _active(row: TransferredZone) -> QuerySet[TransferredZone]:
    """Return a queryset with the row, or an empty one if the zone was taken over."""
    return TransferredZone.objects.filter(pk=row.pk).exclude(zone__transferred_from="")


def _signing(before: SigningState, transfer: Transfer) -> SigningState:
    brought = transfer.signatures
    if brought is None:
        return SigningState(row_ids=before.row_ids) if before.presigned else before
    return SigningState((), brought.nsec3, row_ids=before.row_ids, presigned=True, other_nsec3=brought.other_nsec3)


def _refuse_bogus(zone: Zone, before: SigningState, after: SigningState) -> None:
    if before == UNSIGNED and after == UNSIGNED:
        return
    above = nesting.ds_above([zone.name])
    try:
        refuse_bogus(zone, before, after, above[zone.name].ds if zone.name in above else ())
    except DnssecRefused as exc:
        raise TransferFailed(str(exc), is_refused=True) from exc


def _reason(source: TransferSource) -> str:
    return panel_reasons.TRANSFERRED.format(address=source.address)


def _nothing(zone_ids: object) -> None:
    """Do nothing. `pause_denial` requires a callback in its transaction."""
