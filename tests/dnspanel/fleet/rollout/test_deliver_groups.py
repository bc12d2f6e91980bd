"""Tests of releases to groups, which follow confirmations. Stops, pins and skips last until a person ends them."""

import threading
from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.db import close_old_connections, connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from dnspanel.accounts.models import AuditEntry, User
from dnspanel.fleet.errors import DeliveryRefused
from dnspanel.fleet.models import Delivery, Isolation, Node, NodeEvent, NodeGroup, Release
from dnspanel.fleet.nodes import heartbeats
from dnspanel.fleet.rollout import deliver_groups
from dnspanel.fleet.rollout.gates import read_gates
from dnspanel.fleet.signals import released
from dnspanel.texts import gettext, speaking
from dnspanel.zones.acting import Acting
from dnspanel.zones.errors import Forbidden
from dnspanel.zones.models import LogHead
from dnspanel.zones.publishing import edit
from tests.dnspanel.fleet.conftest import MakeNode
from tests.people import make_person

pytestmark = pytest.mark.django_db(transaction=True)

HEAD = 4


@pytest.fixture(autouse=True)
def log() -> LogHead:
    for number in range(HEAD):
        edit.create_zone(zone=edit.NewZone(f"z{number}.test."), acting=Acting(None, "system", timezone.now()))
    heartbeats.beat(process=heartbeats.COLLECTOR, now=timezone.now())
    return LogHead.objects.get()


@pytest.fixture
def woken() -> Iterator[list[set[str]]]:
    """Yield a list that grows by the names of the woken nodes at each wake-up."""
    woken: list[set[str]] = []

    def hear(*, node_ids: list[int], **_: object) -> None:
        woken.append(set(Node.objects.filter(pk__in=node_ids).values_list("name", flat=True)))

    released.connect(hear)
    yield woken
    released.disconnect(hear)


@pytest.fixture
def staged(active_node: MakeNode) -> tuple[Node, Node, Node]:
    """Create ring 0, a canary group and a second group. All nodes have confirmed the first publication."""
    canary = NodeGroup.objects.create(name="canary", order=1)
    rest = NodeGroup.objects.create(name="rest", order=2)
    ring0, first, second = (active_node(name) for name in ("ring0", "ns1", "ns2"))
    Node.objects.filter(pk=ring0.pk).update(is_ring0=True)
    Node.objects.filter(pk=first.pk).update(group=canary)
    Node.objects.filter(pk=second.pk).update(group=rest)
    for node in (ring0, first, second):
        prove(node, 1)
    return ring0, first, second


def prove(node: Node, sequence: int) -> None:
    now = timezone.now()
    Node.objects.filter(pk=node.pk).update(
        epoch=LogHead.objects.get().epoch, acked=sequence, acked_at=now, contact_at=now, refusal="", refused_since=None
    )


def advance() -> None:
    deliver_groups.advance(now=timezone.now())


def releases() -> dict[str, int]:
    return dict(Release.objects.values_list("group__name", "sequence"))


def test_a_fleet_without_stages_costs_one_query_and_has_no_releases(active_node: MakeNode) -> None:
    active_node("ns1")
    NodeGroup.objects.create(name="all", order=1)
    with CaptureQueriesContext(connection) as queries:
        advance()
    assert len(queries) == 1
    assert releases() == {}


def test_each_proof_lets_the_next_stage_go_as_far_and_rings_it_alone(
    staged: tuple[Node, Node, Node], woken: list[set[str]]
) -> None:
    ring0, first, _ = staged
    advance()
    assert releases() == {"canary": 1, "rest": 1}
    woken.clear()
    prove(ring0, 3)
    advance()
    assert releases() == {"canary": 3, "rest": 1}
    prove(first, 2)
    advance()
    assert releases() == {"canary": 3, "rest": 2}
    assert woken == [{"ns1"}, {"ns2"}]
    advance()
    assert len(woken) == 2


def test_what_was_released_stays_released(staged: tuple[Node, Node, Node]) -> None:
    ring0, first, _ = staged
    prove(ring0, 3)
    prove(first, 3)
    advance()
    Node.objects.filter(pk=first.pk).update(acked=1)
    advance()
    assert releases() == {"canary": 3, "rest": 3}


def test_without_the_stage_that_was_waited_for_all_go_free(
    staged: tuple[Node, Node, Node], woken: list[set[str]]
) -> None:
    advance()
    Node.objects.filter(name__in=("ring0", "ns1")).update(state="drained")
    advance()
    assert releases() == {}
    assert woken[-1] >= {"ns2"}


def test_releases_of_another_epoch_go_when_the_new_ones_are_made(staged: tuple[Node, Node, Node]) -> None:
    advance()
    LogHead.objects.update(epoch="00000000-0000-4000-8000-000000000009")
    Node.objects.update(acked=0)
    advance()
    assert set(Release.objects.values_list("epoch", flat=True)) == {LogHead.objects.get().epoch}


def test_a_refusal_of_the_canary_stops_the_rest_until_a_person_resumes(staged: tuple[Node, Node, Node]) -> None:
    ring0, first, second = staged
    prove(ring0, HEAD)
    prove(first, 2)
    advance()
    since = timezone.now() - timedelta(minutes=1)
    Node.objects.filter(pk=first.pk).update(refusal="the disk is full", refused_since=since)
    advance()
    delivery = Delivery.objects.get()
    assert delivery.stopped_reason == "ns1 in canary rejects updates: the disk is full"
    assert delivery.stopped_group == NodeGroup.objects.get(name="canary")
    assert AuditEntry.objects.filter(action="delivery.stop", target="canary").count() == 1
    prove(first, HEAD)
    advance()
    assert releases() == {"canary": HEAD, "rest": 2}
    deliver_groups.resume(by=None, now=timezone.now())
    assert releases() == {"canary": HEAD, "rest": HEAD}
    assert Delivery.objects.get().stopped_reason == ""
    told = NodeEvent.objects.filter(node=second, kind="delivery").values_list("sentence", flat=True)
    assert "Delivery resumed." in told


def test_each_reads_in_their_language_what_the_canary_refused(staged: tuple[Node, Node, Node]) -> None:
    """SQL statements copy the refusal from the node's row to the reason of the stopped delivery."""
    refusal = gettext("{path} is full (map size {size} MiB)").format(path="/var/lib/pdns", size=1)
    since = timezone.now() - timedelta(minutes=1)
    Node.objects.filter(name="ns1").update(refusal=refusal, refused_since=since)
    advance()
    assert Delivery.objects.get().stopped_reason == f"ns1 in canary rejects updates: {refusal}"
    with speaking("de"):
        assert "/var/lib/pdns ist voll" in Delivery.objects.get().stopped_reason
        assert "/var/lib/pdns ist voll" in read_gates(now=timezone.now()).stopped_reason


def test_while_it_still_refuses_resuming_stops_again(staged: tuple[Node, Node, Node]) -> None:
    since = timezone.now() - timedelta(minutes=1)
    Node.objects.filter(name="ns1").update(refusal="no", refused_since=since)
    advance()
    deliver_groups.resume(by=None, now=timezone.now())
    assert Delivery.objects.get().stopped_reason == "ns1 in canary rejects updates: no"


def test_content_that_is_not_the_panels_stops_the_rest(staged: tuple[Node, Node, Node]) -> None:
    Node.objects.filter(name="ns1").update(digest_equal=False)
    advance()
    assert Delivery.objects.get().stopped_reason == "ns1 in canary: content differs from the panel’s"


def test_a_person_stops_the_whole_fleet_and_lets_it_go_on(
    staged: tuple[Node, Node, Node], woken: list[set[str]]
) -> None:
    deliver_groups.stop(reason="  wrong\n zone ", by=None, now=timezone.now())
    delivery = Delivery.objects.get()
    assert (delivery.stopped_whole, delivery.stopped_reason, delivery.stopped_group) == (True, "wrong zone", None)
    deliver_groups.resume(by=None, now=timezone.now())
    assert woken[-1] == {"ring0", "ns1", "ns2"}
    with pytest.raises(DeliveryRefused, match="not stopped"):
        deliver_groups.resume(by=None, now=timezone.now())


@pytest.mark.parametrize("reason", ["", "  ", "x" * 501], ids=["none", "blank", "too long"])
def test_who_stops_says_why(reason: str) -> None:
    with pytest.raises(DeliveryRefused, match="Enter a reason"):
        deliver_groups.stop(reason=reason, by=None, now=timezone.now())
    assert not Delivery.objects.exclude(stopped_reason="").exists()


def test_a_pin_takes_nothing_back_and_lies_in_the_log(staged: tuple[Node, Node, Node]) -> None:
    prove(staged[0], 3)
    now = timezone.now()
    with pytest.raises(DeliveryRefused, match="already serves sequence 3, and a pin can’t revert changes"):
        deliver_groups.pin(sequence=2, reason="freeze", by=None, now=now)
    with pytest.raises(DeliveryRefused, match="newest publication has sequence 4"):
        deliver_groups.pin(sequence=5, reason="freeze", by=None, now=now)
    deliver_groups.pin(sequence=3, reason="freeze", by=None, now=now)
    assert Delivery.objects.get().pinned == 3
    deliver_groups.unpin(by=None, now=now)
    assert Delivery.objects.get().pinned is None
    with pytest.raises(DeliveryRefused, match="not pinned"):
        deliver_groups.unpin(by=None, now=now)
    actions = AuditEntry.objects.filter(action__startswith="delivery.").order_by("pk").values_list("action", flat=True)
    assert list(actions) == ["delivery.pin", "delivery.unpin"]


def test_a_group_without_a_live_node_is_skipped_until_one_is_back(staged: tuple[Node, Node, Node]) -> None:
    ring0, first, _ = staged
    advance()
    canary = NodeGroup.objects.get(name="canary")
    with pytest.raises(DeliveryRefused, match="Node ns1 in group canary is live"):
        deliver_groups.skip(group=canary, reason="gone", by=None, now=timezone.now())
    prove(ring0, HEAD)
    Node.objects.filter(pk=first.pk).update(contact_at=timezone.now() - timedelta(hours=1))
    advance()
    assert releases()["rest"] == 1
    deliver_groups.skip(group=canary, reason="the machine burnt", by=None, now=timezone.now())
    assert releases()["rest"] == HEAD
    prove(first, 2)
    advance()
    canary.refresh_from_db()
    assert canary.skipped_reason == ""
    empty = NodeGroup.objects.create(name="empty", order=3)
    with pytest.raises(DeliveryRefused, match="has no active nodes"):
        deliver_groups.skip(group=empty, reason="none", by=None, now=timezone.now())


def test_nothing_is_released_beyond_what_is_being_taken_back(staged: tuple[Node, Node, Node], log: LogHead) -> None:
    prove(staged[0], HEAD)
    Isolation.objects.create(epoch=log.epoch, failed=3, inverse=HEAD + 1, found_at=timezone.now())
    advance()
    assert releases() == {"canary": 2, "rest": 1}


def test_many_at_once_leave_one_right_answer(staged: tuple[Node, Node, Node]) -> None:
    ring0, first, _ = staged

    def prove_and_advance(sequence: int) -> None:
        Node.objects.filter(pk__in=(ring0.pk, first.pk), acked__lt=sequence).update(acked=sequence)
        advance()
        close_old_connections()
        connection.close()

    threads = [threading.Thread(target=prove_and_advance, args=(number,)) for number in range(1, HEAD + 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    advance()
    assert releases() == {"canary": HEAD, "rest": HEAD}


@pytest.mark.parametrize("role", ["reader", "editor"])
def test_only_who_may_change_nodes_may_stop_pin_and_go_on(role: str) -> None:
    person: User = make_person(f"p-{role}", role=role)
    group = NodeGroup.objects.create(name="g", order=1)
    now = timezone.now()
    for act in (
        lambda: deliver_groups.stop(reason="x", by=person, now=now),
        lambda: deliver_groups.resume(by=person, now=now),
        lambda: deliver_groups.pin(sequence=1, reason="x", by=person, now=now),
        lambda: deliver_groups.unpin(by=person, now=now),
        lambda: deliver_groups.skip(group=group, reason="x", by=person, now=now),
    ):
        with pytest.raises(Forbidden):
            act()
