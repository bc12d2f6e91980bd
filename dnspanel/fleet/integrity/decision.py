"""Process a hold: list the publications that only nodes have, then execute a person's decision. Verbs.

The steps run in the queue *system*. Beat starts a step every few seconds. If there is no hold, the step does nothing.
An advisory lock admits one worker at a time. If a worker is killed, its step is repeated.
"""

import logging
from collections.abc import Iterator
from datetime import datetime, timedelta

from django.db import DataError, IntegrityError
from django.db.models import Count

from dnspanel.advisory_locks import Lock, hold_lock
from dnspanel.fleet.integrity import unknown_history
from dnspanel.fleet.integrity.unknown_history_report import make_report
from dnspanel.fleet.models import AheadReport, AheadRRset, AheadZone, Choice
from dnspanel.texts import gettext
from dnspanel.zones.errors import ZoneError
from dnspanel.zones.models import Epoch
from dnspanel.zones.publishing.epoch import ChangedZone, GoneZone, Known, NewZone, Outcome, begin_epoch
from dnspanel.zones.publishing.lost_keys import LostSigning
from replication.dns.rrset import RRset, Serial

# Nodes that did not answer are queried again after this time.
_AGAIN_AFTER = timedelta(seconds=15)
# A publication ends with the zone that reaches this many RRsets.
_BATCH_RRSETS = 5_000
_BATCH_ZONES = 1_000

logger = logging.getLogger(__name__)


def step(*, now: datetime) -> str:
    """Take the next step of the current hold. Return a description for the log."""
    if unknown_history.report_of_hold(now=now) is None:
        return "nothing is held"
    with hold_lock(Lock.HOLD) as mine:
        report = unknown_history.report_of_hold(now=now) if mine else None
        if report is None:
            return "another worker is at it"
        if report.choice:
            return _carry_out(report, now)
        if report.ended_at is None and (not report.error or now - report.asked_at > _AGAIN_AFTER):
            AheadReport.objects.filter(pk=report.pk).update(asked_at=now)
            make_report(report=report, now=now)
            return "the nodes were asked"
        return "waits for a person"


def _carry_out(report: AheadReport, now: datetime) -> str:
    try:
        epoch = carry_out(report=report, now=now)
    except (ZoneError, IntegrityError, DataError) as exc:
        logger.exception("the decision of report=%s could not be carried out", report.pk)
        AheadReport.objects.filter(pk=report.pk).update(
            choice="",
            decided_at=None,
            error=gettext("The decision failed, and nothing was changed: {exc}").format(exc=exc),
        )
        return "the decision could not be carried out"
    return f"epoch {epoch.epoch} has begun"


def carry_out(*, report: AheadReport, now: datetime) -> Epoch:
    """Begin and return the new epoch that the report's decision requires. Record the time in the report.

    If `begin_epoch` raises an error, nothing changes.
    """

    def note(epoch: Epoch) -> None:
        AheadReport.objects.filter(pk=report.pk, carried_out_at=None).update(carried_out_at=now, error="")

    whose = {Choice.TAKE_OVER: "taken over from", Choice.KEEP: "the panel's, not that of"}[Choice(report.choice)]
    reason = f"a new history: {whose} {report.node_name or 'the nodes'}"
    return begin_epoch(
        batches=_batches(report),
        known=Known(report.highest_sequence, report.highest_zone_id, report.foreign_epochs),
        by=report.decided_by,
        reason=f"{reason}. {report.reason}".strip(),
        now=now,
        in_transaction=note,
    )


def _batches(report: AheadReport) -> Iterator[list[Outcome]]:
    """Yield the outcome of each zone that changes, in batches that fit one publication."""
    outcome_of = _take_over_zone if report.choice == Choice.TAKE_OVER else _keep_zone
    batch: list[Outcome] = []
    size = 0
    zones = report.zones.annotate(size=Count("rrsets")).order_by("pk")
    for zone in zones.iterator(chunk_size=500):
        if (outcome := outcome_of(zone)) is None:
            continue
        batch.append(outcome)
        size += zone.size
        if size >= _BATCH_RRSETS or len(batch) >= _BATCH_ZONES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _take_over_zone(zone: AheadZone) -> Outcome | None:
    """Return the outcome that takes over or removes the zone as on the node. Keep the panel's if that is unreadable."""
    if zone.error:
        return _keep_zone(zone)
    if zone.id_there is None:
        return GoneZone(_id(zone.id_here))
    rrsets = list(zone.rrsets.order_by("owner_key", "type"))
    if zone.id_here is None and not zone.in_trash:
        return NewZone(zone.id_there, zone.name, [rrset for rrset in map(_on_node, rrsets) if rrset], _signing(zone))
    changes = {(rrset.name, rrset.type): _on_node(rrset) for rrset in rrsets}
    return ChangedZone(zone.id_here or zone.id_there, _serial(zone.serial_there), changes, _signing(zone))


def _signing(zone: AheadZone) -> LostSigning | None:
    return LostSigning.from_json(zone.signing) if zone.signing else None


def _keep_zone(zone: AheadZone) -> Outcome | None:
    """Return the outcome that keeps the panel's content of the zone, with a serial above the node's.

    Return None if the panel's serial is already higher, or if either serial is unknown.
    """
    serial_here, serial_on_node = _serial(zone.serial_here), _serial(zone.serial_there)
    if zone.id_here is None or serial_here is None or serial_on_node is None or serial_here > serial_on_node:
        return None
    return ChangedZone(zone.id_here, serial_on_node, {})


def _on_node(rrset: AheadRRset) -> RRset | None:
    return RRset.from_json(rrset.name, rrset.type, rrset.there) if rrset.there else None


def _serial(value: int | None) -> Serial | None:
    return None if value is None else Serial(value)


def _id(value: int | None) -> int:
    assert value is not None
    return value
