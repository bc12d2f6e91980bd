"""Tests of the watch: when alerts are raised, kept and ended, and the people that get them."""

import json
from datetime import datetime, time, timedelta
from typing import Any

import pytest
from django.db import connection

from dnspanel.accounts.models import Role, User
from dnspanel.advisory_locks import Lock
from dnspanel.alerts import watch
from dnspanel.alerts.alert_inputs import read
from dnspanel.alerts.alert_marks import mark_read, mute
from dnspanel.alerts.models import Alert, DiskMark, Message, Route
from dnspanel.alerts.watch import GATHER, OVER_AFTER, keep, look
from dnspanel.conditions import Condition, Severity
from dnspanel.fleet.conditions.condition_inputs import FleetInputs
from dnspanel.fleet.models import Node
from dnspanel.fleet.nodes.heartbeats import COLLECTOR, WATCH, beat, heartbeats
from dnspanel.fleet.rollup import AWAY, lags_of
from dnspanel.webhooks.deliver_events import deliver_next
from dnspanel.webhooks.hooks import WebhookTerms, create_webhook
from dnspanel.webhooks.models import Delivery, Event, EventKind
from tests.dnspanel.alerts.conftest import MakeRoute
from tests.dnspanel.fleet.conftest import MakeNode
from tests.dnspanel.webhooks.receiver import HOST, Receiver
from tests.mailserver import MailServer
from tests.people import NOW

pytestmark = pytest.mark.django_db


def late(name: str = "ns1", severity: Severity = Severity.WARNING, sentence: str = "ns1 is late") -> Condition:
    return Condition(f"node.standing:{name}", "node.late", severity, sentence)


def later(**time: float) -> datetime:
    return NOW + timedelta(**time)


def waiting() -> list[tuple[str, bool, datetime]]:
    messages = Message.objects.filter(sent_at=None, failed_at=None).select_related("route").order_by("pk")
    return [(message.route.name, message.is_over, message.due_at) for message in messages]


def test_what_is_wrong_is_raised_once_and_kept_while_it_lasts() -> None:
    assert keep([late()], now=NOW).raised == 1
    for seconds in (5, 10, 15):
        looked = keep([late(sentence=f"ns1 is late for {seconds} s")], now=later(seconds=seconds))
        assert (looked.raised, looked.over, looked.still_open) == (0, 0, 1)
    alert = Alert.objects.get()
    assert (alert.since, alert.seen_at, alert.over_at) == (NOW, later(seconds=15), None)
    assert alert.sentence == "ns1 is late for 15 s"


def test_what_comes_and_goes_is_one_alert() -> None:
    for seconds in range(0, 300, 5):
        keep([late()] if seconds % 50 == 0 else [], now=later(seconds=seconds))
    assert Alert.objects.count() == 1
    assert Alert.objects.get().over_at is None


def test_it_is_over_when_it_has_not_been_seen_for_a_while() -> None:
    keep([late()], now=NOW)
    keep([], now=NOW + OVER_AFTER - timedelta(seconds=1))
    assert Alert.objects.get().over_at is None
    assert keep([], now=NOW + OVER_AFTER).over == 1
    assert Alert.objects.get().over_at == NOW + OVER_AFTER
    assert keep([late()], now=NOW + OVER_AFTER).raised == 1  # the next time is another alert
    assert Alert.objects.count() == 2


def test_everybody_who_wants_to_know_is_told_of_the_beginning_and_of_the_end(route: MakeRoute) -> None:
    route("all")
    route("pager", least=Severity.CRITICAL)
    Route.objects.filter(pk=route("off").route.pk).update(active=False)
    keep([late()], now=NOW)
    keep([late()], now=later(seconds=5))
    assert waiting() == [("all", False, NOW + GATHER)]
    keep([], now=later(seconds=90))
    assert waiting()[1:] == [("all", True, later(seconds=90) + GATHER)]
    assert Message.objects.filter(route__name="pager").count() == 0


def test_what_becomes_critical_is_told_again_and_stays_critical(route: MakeRoute) -> None:
    route("all")
    route("pager", least=Severity.CRITICAL)
    keep([late()], now=NOW)
    Message.objects.update(sent_at=NOW, attempts=3)
    keep([late(severity=Severity.CRITICAL)], now=later(seconds=60))
    assert sorted(waiting()) == [(name, False, later(seconds=60) + GATHER) for name in ("all", "pager")]
    assert set(Message.objects.values_list("attempts", flat=True)) == {0}
    keep([late()], now=later(seconds=65))
    assert Alert.objects.get().severity == Severity.CRITICAL
    keep([late(severity=Severity.CRITICAL)], now=later(seconds=70))
    assert len(waiting()) == 2


def test_marks_last_until_the_alert_becomes_critical(route: MakeRoute, alice: User) -> None:
    route("sleeper", quiet_from=time(11), quiet_until=time(15), time_zone="UTC")  # NOW is noon
    keep([late()], now=NOW)
    everything = Alert.objects.all()
    mark_read(alerts=everything, by=alice)
    mute(alerts=everything, by=alice, now=NOW)
    keep([late()], now=later(seconds=5))
    alert = Alert.objects.get()
    assert (alert.read_by, alert.muted_until) == ([alice.pk], later(days=1))
    assert waiting() == []
    keep([late(severity=Severity.CRITICAL)], now=later(seconds=10))
    alert = Alert.objects.get()
    assert (alert.read_by, alert.muted_until, len(waiting())) == ([], None, 1)


def test_information_goes_only_to_routes_of_everything(route: MakeRoute) -> None:
    route("all")
    route("ops", least=Severity.WARNING)
    keep([late(severity=Severity.INFO)], now=NOW)
    assert [name for name, _, _ in waiting()] == ["all"]


def test_in_quiet_hours_only_what_is_critical_is_told_at_once(route: MakeRoute) -> None:
    route("sleeper", quiet_from=time(11), quiet_until=time(15), time_zone="UTC")  # NOW is noon
    keep([late(), late("ns2", Severity.CRITICAL)], now=NOW)
    assert sorted(due for _, _, due in waiting()) == [NOW + GATHER, later(hours=3)]
    keep([late("ns1", Severity.CRITICAL), late("ns2", Severity.CRITICAL)], now=later(minutes=1))
    assert max(due for _, _, due in waiting()) == later(minutes=1) + GATHER  # it can't wait any longer
    keep([], now=later(minutes=5))
    assert [is_over for _, is_over, _ in waiting()].count(True) == 2


def test_a_look_reads_the_fleet_and_says_that_it_was_made(active_node: MakeNode) -> None:
    node = active_node()
    Node.objects.update(contact_at=NOW, created_at=NOW)
    beat(process=COLLECTOR, now=NOW)
    assert look(now=NOW) is not None
    assert heartbeats()[WATCH] == NOW
    beat(process=COLLECTOR, now=later(seconds=30))
    looked = look(now=later(seconds=30))
    assert looked is not None
    offline = Alert.objects.get(kind="node.offline")
    assert (offline.node, offline.severity) == (node, "critical")


def test_only_one_looks_at_a_time_and_not_again_at_once() -> None:
    assert look(now=NOW) is not None
    assert look(now=later(seconds=1)) is None  # another look was a moment ago
    assert look(now=later(seconds=5)) is not None
    assert look(now=NOW - timedelta(hours=1)) is not None  # the clock was set back: the watch must not pause
    with connection.cursor() as cursor:  # a session's own lock doesn't exclude it, so use another session
        cursor.execute("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND classid = %s", [int(Lock.WATCH)])
        assert cursor.fetchone()[0] == 0  # the lock is free after a look


def test_disks_are_marked_a_few_times_a_day_and_growth_follows_from_it(active_node: MakeNode) -> None:
    active_node()
    for hours in range(0, 9 * 24, 3):
        now = later(hours=hours)
        Node.objects.update(report={"disk_free_bytes": (1000 - hours) << 20, "disk_bytes": 1 << 30}, reported_at=now)
        watch.mark_disks(read(now), now=now)
    marks = DiskMark.objects.order_by("at")
    assert 28 <= marks.count() <= 30
    assert marks[0].at >= later(hours=8 * 24) - watch.MARKS_KEPT
    found = read(later(hours=9 * 24)).of(FleetInputs).nodes[0]
    assert found.bytes_a_day == pytest.approx(24 << 20, rel=0.05)


def test_old_alerts_are_forgotten_and_open_ones_never(route: MakeRoute) -> None:
    made = route("all").route
    keep([late()], now=NOW)
    keep([late("ns2")], now=later(minutes=2))
    Message.objects.create(route=made, alert=None, due_at=NOW)
    assert watch.forget_old_alerts(now=later(days=89)) == 0
    assert watch.forget_old_alerts(now=later(days=91)) == 1
    assert [alert.key for alert in Alert.objects.all()] == ["node.standing:ns2"]
    assert not Message.objects.filter(alert=None).exists()


def test_a_hundred_alerts_cost_as_many_queries_as_one(route: MakeRoute, django_assert_max_num_queries: object) -> None:
    route("all")
    many = [late(f"ns{n}") for n in range(100)]
    with django_assert_max_num_queries(14):  # type: ignore[operator]
        keep(many, now=NOW)
    with django_assert_max_num_queries(8):  # type: ignore[operator]
        keep(many, now=later(seconds=5))
    with django_assert_max_num_queries(8):  # type: ignore[operator]
        keep([], now=later(minutes=5))
    assert Message.objects.count() == 200


def test_who_subscribed_is_told_by_mail_and_by_chat(
    charlie: User, mail_server: MailServer, receiver: Receiver, settings: Any
) -> None:
    """Subscribers get alerts like publications: combined, as a sentence with a link, and once for each step, if they
    are allowed to see the fleet.
    """
    settings.PANEL_URL = "https://panel.test"
    alerts = (EventKind.ALERT, EventKind.ALERT_OVER)
    mail = create_webhook(terms=WebhookTerms("", alerts, format="mail"), by=charlie, now=NOW).webhook
    chat = create_webhook(
        terms=WebhookTerms(f"http://{HOST}:{receiver.port}/", alerts, format="slack"), by=charlie, now=NOW
    ).webhook
    keep([late()], now=NOW)
    keep([late()], now=later(seconds=5))
    keep([late(severity=Severity.CRITICAL)], now=later(seconds=10))
    keep([], now=later(seconds=80))
    expected = ["Warning: ns1 is late.", "Critical: ns1 is late.", "Resolved: ns1 is late."]
    assert not deliver_next(webhook_id=mail.pk, clock=lambda: NOW)
    for webhook in (mail, chat):
        while deliver_next(webhook_id=webhook.pk, clock=lambda: later(seconds=100)):
            pass
    [sent] = mail_server.mails
    assert (sent.to, sent.message["Subject"]) == (
        [charlie.email],
        "[dnspanel] 3 events, starting with: Warning: ns1 is late.",
    )
    assert sent.text.count("https://panel.test/alerts/") == 3
    assert [line for line in sent.text.splitlines() if line.endswith("late.")] == expected
    [posted] = receiver.received
    assert [line.partition(" <")[0] for line in json.loads(posted.body)["text"].splitlines()] == expected
    User.objects.filter(pk=charlie.pk).update(role=Role.MEMBER)
    keep([late("ns2")], now=later(seconds=200))
    assert Event.objects.filter(kind__startswith="alert.").count() == 4
    assert Delivery.objects.filter(event__facts__about="node.standing:ns2").count() == 0


def test_alerts_that_nobody_subscribed_to_are_no_events(django_assert_num_queries: Any) -> None:
    keep([late()], now=NOW)
    assert not Event.objects.exists()
    with django_assert_num_queries(4):  # a savepoint and its release, the open alerts, and their details
        keep([late()], now=later(seconds=5))


@pytest.mark.usefixtures("live_redis")
def test_each_check_stores_the_lags_of_the_nodes_once_the_collector_has_had_time(active_node: MakeNode) -> None:
    node = active_node("ns1")
    minute = int(NOW.timestamp()) // 60
    assert look(now=NOW) is not None
    assert lags_of([minute]) == [None]
    for seconds in range(5, 30, 5):
        assert look(now=later(seconds=seconds)) is not None
    assert lags_of([int(later(seconds=25).timestamp()) // 60]) == [{0: 0, node.pk: AWAY}]
    assert look(now=later(seconds=300)) is not None  # the panel was stopped in between
    assert lags_of([int(later(seconds=300).timestamp()) // 60]) == [None]
