"""Raise alerts, keep them while their condition lasts, and end them some time afterwards. Verbs.

`alert_rules` makes the decisions. This module turns the conditions from one check into `Alert` and `Message` rows.
"""

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Max

from dnspanel.advisory_locks import Lock, hold_lock
from dnspanel.alerts.alert_inputs import read
from dnspanel.alerts.alert_rules import conditions
from dnspanel.alerts.alert_texts import alert_attributes
from dnspanel.alerts.models import Alert, DiskMark, Message, Route
from dnspanel.alerts.panel_conditions import PanelInputs
from dnspanel.alerts.process_rules import process_conditions
from dnspanel.conditions import Condition, Reading, Severity
from dnspanel.fleet.conditions.condition_inputs import FleetInputs
from dnspanel.fleet.nodes.heartbeats import REDIS_AWAY, WATCH, WATCH_SINCE, beat, heartbeats
from dnspanel.fleet.processes.beats import forget_lost
from dnspanel.fleet.rollup import keep_lags
from dnspanel.quiet_hours import quiet_until
from dnspanel.webhooks.collect_events import EventInput, tell
from dnspanel.webhooks.models import EventKind

LOOK_EVERY = timedelta(seconds=5)
# After a longer pause between two checks, missing reports prove nothing, because the panel itself wasn't running.
BREAK = timedelta(seconds=20)
# An alert ends only when its condition has been gone for this time, so a recurring condition stays one alert.
OVER_AFTER = timedelta(seconds=60)
# Alerts within this time are sent in one message.
GATHER = timedelta(seconds=10)
KEPT = timedelta(days=90)
MARK_EVERY, MARKS_KEPT = timedelta(hours=6), timedelta(days=7)

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Looked:
    """The numbers of alerts that one check raised, ended and left open."""

    raised: int
    over: int
    still_open: int


def look(*, now: datetime, also: Sequence[Condition] = ()) -> Looked | None:
    """Update alerts and their messages from the current conditions.

    Return None if another process is checking or has just checked. `also` are conditions that only the caller can find.
    """
    with hold_lock(Lock.WATCH, 0) as mine:
        beats = heartbeats()
        looked_at, since = beats.get(WATCH), beats.get(WATCH_SINCE, now)
        if not mine or (looked_at is not None and timedelta(0) <= now - looked_at < LOOK_EVERY / 2):
            return None
        if looked_at is None or now - looked_at > BREAK:
            beat(process=WATCH_SINCE, now=now)
            since = now
        reading = read(now)
        redis_answers = reading.of(PanelInputs).redis_problem is None
        if not redis_answers:
            beat(process=REDIS_AWAY, now=now)
        elif now - since > BREAK:  # until then, the collector may not have reached the nodes
            keep_lags({each.node.pk: each.health for each in reading.of(FleetInputs).statuses}, now=now)
        forget_lost(now=now)
        processes = reading.of(FleetInputs).processes
        assert processes is not None
        others = [*also, *process_conditions(processes, now, redis_answers=redis_answers)]
        is_open = set(Alert.objects.filter(over_at=None).values_list("key", flat=True))
        looked = keep(conditions(reading, now, is_open=is_open, also=others), now=now)
        mark_disks(reading, now=now)
        beat(process=WATCH, now=now)
        return looked


def keep(found: Sequence[Condition], *, now: datetime) -> Looked:
    """Raise, update and end alerts to match these conditions. Idempotent.

    1. Raise an alert for each new condition. Queue a message for every active route whose minimum severity it reaches.
    2. Keep alerts whose condition is still present. If an alert has become critical, send its messages again.
    3. End alerts whose condition hasn't been seen for OVER_AFTER. Active routes with a message about the alert also get
       a message about its end. If another node now has the name of an alert's node, end the alert at once.

    Webhooks that subscribed to alerts also receive an event for each alert that is raised, becomes critical or ends.
    """
    by_key = {condition.key: condition for condition in found}
    with transaction.atomic():
        open_alerts = {alert.key: alert for alert in Alert.objects.filter(over_at=None).select_for_update(of=("self",))}
        others = [a for key, a in open_alerts.items() if key in by_key and a.node_id != by_key[key].node_id]
        for alert in others:  # their node was retired, and another node has its name now
            del open_alerts[alert.key]
        _end(others, now)
        fresh = [alert_of(condition, now, now) for key, condition in by_key.items() if key not in open_alerts]
        raised = Alert.objects.bulk_create(fresh)
        worse = _update([(open_alerts[key], by_key[key]) for key in open_alerts.keys() & by_key.keys()], now)
        gone = [a for key, a in open_alerts.items() if key not in by_key and now - a.seen_at >= OVER_AFTER]
        _end(gone, now)
        over = [*others, *gone]
        if raised or worse:
            _tell([*raised, *worse], now)
        begun = [EventInput(EventKind.ALERT, f"{a.pk}:{a.severity}", alert_attributes(a)) for a in (*raised, *worse)]
        tell([*begun, *(EventInput(EventKind.ALERT_OVER, f"{a.pk}", alert_attributes(a)) for a in over)], now=now)
    for alert in raised:
        logger.warning("alert %s %s: %s", alert.severity, alert.key, alert.sentence)
    for alert in over:
        logger.info("over: %s", alert.key)
    return Looked(len(raised), len(over), len(open_alerts) + len(raised) - len(gone))


def mark_disks(reading: Reading, *, now: datetime) -> None:
    """Store the free space of each node's disk a few times a day, and delete old measurements."""
    free = {
        node.node_id: int(node.report.get("disk_free_bytes", 0))
        for node in reading.of(FleetInputs).nodes
        if node.report
    }
    newest: datetime | None = DiskMark.objects.aggregate(at=Max("at"))["at"]
    if not free or (newest is not None and now - newest < MARK_EVERY):
        return
    marks = [DiskMark(node_id=node_id, at=now, free_bytes=size) for node_id, size in free.items() if size]
    DiskMark.objects.bulk_create(marks, ignore_conflicts=True)
    DiskMark.objects.filter(at__lt=now - MARKS_KEPT).delete()


def forget_old_alerts(*, now: datetime) -> int:
    """Delete alerts that ended and test messages due more than KEPT ago. Return the number of deleted alerts."""
    gone = Alert.objects.filter(over_at__lt=now - KEPT).delete()[1].get("alerts.Alert", 0)
    Message.objects.filter(alert=None, due_at__lt=now - KEPT).delete()
    return gone


def alert_of(condition: Condition, since: datetime, now: datetime) -> Alert:
    """Return an alert about this condition, without storing it."""
    same = {name: getattr(condition, name) for name in ("key", "kind", "severity", "node_id", "about")}
    return Alert(**same, sentence=condition.message, since=since, seen_at=now)


def _update(known: Iterable[tuple[Alert, Condition]], now: datetime) -> list[Alert]:
    """Update known alerts, but keep `critical`. Return those that became critical, and remove their marks."""
    alerts, worse = [], []
    for alert, condition in known:
        if condition.severity == Severity.CRITICAL and alert.severity != Severity.CRITICAL:
            alert.severity = Severity.CRITICAL
            worse.append(alert)
        alert.kind, alert.sentence, alert.about, alert.seen_at = condition.kind, condition.message, condition.about, now
        alerts.append(alert)
    Alert.objects.bulk_update(alerts, ["kind", "severity", "sentence", "about", "seen_at"])
    if worse:
        Alert.objects.filter(pk__in=[alert.pk for alert in worse]).update(read_by=[], muted_until=None)
    return worse


def _tell(alerts: Sequence[Alert], now: datetime) -> None:
    """Queue a message, or repeat an earlier one, for each active route whose minimum severity an alert reaches."""
    told = {
        (message.route_id, message.alert_id): message
        for message in Message.objects.filter(alert__in=[alert.pk for alert in alerts], is_over=False)
    }
    fresh: list[Message] = []
    again: list[Message] = []
    for route in Route.objects.filter(active=True):
        for alert in alerts:
            if Severity(alert.severity).rank > Severity(route.least).rank:
                continue
            message = told.get((route.pk, alert.pk)) or Message(route=route, alert=alert)
            message.due_at, message.attempts = due_at(route, alert, now), 0
            message.sent_at = message.failed_at = None
            (again if message.pk else fresh).append(message)
    Message.objects.bulk_create(fresh)
    Message.objects.bulk_update(again, ["due_at", "attempts", "sent_at", "failed_at"])


def _end(gone: Sequence[Alert], now: datetime) -> None:
    """End these alerts. Queue a message about the end for every active route that has a message about the alert."""
    Alert.objects.filter(pk__in=[alert.pk for alert in gone]).update(over_at=now)
    by_id = {alert.pk: alert for alert in gone}
    begun = Message.objects.filter(alert__in=by_id, is_over=False, route__active=True).select_related("route")
    Message.objects.bulk_create(
        Message(route=each.route, alert=alert, is_over=True, due_at=due_at(each.route, alert, now))
        for each in begun
        if (alert := by_id.get(each.alert_id or 0)) is not None
    )


def due_at(route: Route, alert: Alert, now: datetime) -> datetime:
    """Return the time to send a message about this alert: soon, or after quiet hours if the alert isn't critical."""
    quiet = quiet_until(route.quiet_from, route.quiet_until, route.time_zone, now)
    return now + GATHER if quiet is None or alert.severity == Severity.CRITICAL else quiet
