"""Tests of nodes with publications that the panel lacks: publishing stops until a person decides."""

from collections.abc import Callable
from datetime import timedelta
from uuid import UUID, uuid4

import pytest
from django.utils import timezone

from dnspanel.accounts.models import AuditEntry, User
from dnspanel.fleet.collector import Collector
from dnspanel.fleet.errors import WrongDecision
from dnspanel.fleet.integrity import unknown_history
from dnspanel.fleet.models import AheadReport, Choice, Node
from dnspanel.fleet.tasks import push_node
from dnspanel.publish.encoding.encode import encode_step
from dnspanel.zones.acting import Acting
from dnspanel.zones.errors import Forbidden
from dnspanel.zones.log import publish_hold
from dnspanel.zones.models import LogHead
from dnspanel.zones.publishing import edit
from replication.wire.position import Position
from tests.dnspanel.fleet.conftest import NOW, Served
from tests.dnspanel.fleet.yesterday import Yesterday
from tests.people import alice as alice
from tests.people import bob as bob

pytestmark = pytest.mark.django_db(transaction=True)
Serve = Callable[..., Served]
OURS, OTHER = UUID(int=1), UUID(int=2)


def publish(name: str) -> None:
    edit.create_zone(zone=edit.NewZone(name), acting=Acting(None, "system", timezone.now()))
    assert encode_step(now=timezone.now()) is not None


def set_back(made: Served) -> None:
    """Set the panel back, so that the node has one publication more."""
    publish("one.test.")
    push_node(made.node.pk)
    yesterday = Yesterday()
    publish("two.test.")
    push_node(made.node.pk)
    yesterday.come_back()


@pytest.mark.parametrize(
    ("position", "is_known", "expected"),
    [
        (Position(OURS, 5), True, ""),
        (Position(OURS, 3), True, ""),
        (Position(OURS, 6), True, "has only published up to 5"),
        (Position(OTHER, 900), True, ""),  # from an earlier epoch: it gets a snapshot
        (Position(OTHER, 1), False, "doesn’t recognize"),
    ],
)
def test_only_what_the_panel_never_published_is_suspicious(position: Position, is_known: bool, expected: str) -> None:
    words = unknown_history.suspicion("ns1", position, Position(OURS, 5), is_known=is_known)
    assert (expected in words) if expected else words == ""


def test_the_collector_sees_a_node_that_is_ahead_and_publishing_is_held(served: Serve, live_redis: None) -> None:
    made = served()
    set_back(made)
    collector = Collector()
    try:
        collector.tick(0.0)  # finds the node and asks it
        collector.settle()
        collector.tick(10.0)
        collector.settle()
    finally:
        collector.close()
    current = publish_hold.current_hold()
    assert current is not None
    assert current.reason.startswith("Node ns1 is at sequence 2, but this panel has only published up to 1.")


def test_a_fleet_in_order_is_never_held(served: Serve, live_redis: None) -> None:
    made = served()
    publish("one.test.")
    push_node(made.node.pk)
    collector = Collector()
    try:
        for tick in (0.0, 10.0, 20.0):
            collector.tick(tick)
            collector.settle()
    finally:
        collector.close()
    assert publish_hold.current_hold() is None


def test_a_push_to_a_node_that_is_ahead_holds_publishing_too(served: Serve) -> None:
    made = served()
    set_back(made)
    Node.objects.update(acked=2)
    push_node(made.node.pk)
    assert publish_hold.current_hold() is not None
    assert "the panel is only at 1" in Node.objects.get().refusal


def test_the_publisher_that_has_written_more_than_the_database_knows_holds_publishing(served: Serve) -> None:
    made = served()
    set_back(made)
    edit.create_zone(zone=edit.NewZone("other.test."), acting=Acting(None, "system", timezone.now()))
    assert encode_step(now=timezone.now()) is None
    current = publish_hold.current_hold()
    assert current is not None
    assert "LMDB is at sequence 2, but the database ends at 1" in current.reason
    assert encode_step(now=timezone.now()) is None  # nothing is encoded during the hold


def test_an_unknown_history_holds_publishing(db: None) -> None:
    known = Position(LogHead.objects.get().epoch, 0)
    assert not unknown_history.hold_if_ahead(positions=[("ns1", known)], now=NOW)
    assert not unknown_history.hold_if_ahead(positions=[], now=NOW)
    assert unknown_history.hold_if_ahead(positions=[("ns1", known), ("ns2", Position(uuid4(), 3))], now=NOW)
    current = publish_hold.current_hold()
    assert current is not None
    assert current.reason.startswith("Node ns2 has a change history")


def test_there_is_one_report_for_each_hold(db: None) -> None:
    assert unknown_history.report_of_hold(now=NOW) is None
    publish_hold.hold(reason="ns1 knows more.", now=NOW)
    first = unknown_history.report_of_hold(now=NOW + timedelta(seconds=1))
    assert unknown_history.report_of_hold(now=NOW + timedelta(seconds=2)) == first
    publish_hold.release()
    publish_hold.hold(reason="ns2 knows more.", now=NOW + timedelta(hours=1))
    again = unknown_history.report_of_hold(now=NOW + timedelta(hours=2))
    assert again is not None
    assert again != first
    assert AheadReport.objects.count() == 1


@pytest.fixture
def report(db: None) -> AheadReport:
    publish_hold.hold(reason="ns1 knows more.", now=NOW)
    return AheadReport.objects.create(
        asked_at=NOW, epoch=LogHead.objects.get().epoch, node_name="ns1", is_ahead=True, ended_at=NOW
    )


def decide(report: AheadReport, by: User, choice: str = Choice.KEEP, typed: str = "keep the panel's") -> None:
    unknown_history.decide(report=report, choice=choice, typed=typed, reason="tested", by=by, now=NOW)


def test_a_decision_is_typed_and_stands_in_the_audit_log(report: AheadReport, alice: User) -> None:
    with pytest.raises(WrongDecision, match="Type “keep the panel's”"):
        decide(report, alice, typed="yes")
    assert not AuditEntry.objects.exists()
    decide(report, alice)
    report.refresh_from_db()
    assert (report.choice, report.decided_by, report.reason) == (Choice.KEEP, alice, "tested")
    assert AuditEntry.objects.get(action="epoch.decide").user == alice


def test_only_the_first_decision_counts(report: AheadReport, alice: User) -> None:
    decide(report, alice)
    with pytest.raises(WrongDecision, match="Someone else"):
        decide(report, alice, Choice.TAKE_OVER, "take over")


def test_who_may_not_change_nodes_decides_nothing(report: AheadReport, bob: User) -> None:
    with pytest.raises(Forbidden):
        decide(report, bob)
    report.refresh_from_db()
    assert report.choice == ""


def test_nothing_is_decided_while_nodes_are_still_being_asked(report: AheadReport, alice: User) -> None:
    AheadReport.objects.update(ended_at=None)
    report.refresh_from_db()
    with pytest.raises(WrongDecision, match="still being compared"):
        decide(report, alice)


def test_an_unknown_choice_is_refused(report: AheadReport, alice: User) -> None:
    with pytest.raises(WrongDecision, match="Choose an option"):
        decide(report, alice, "both", "both")
