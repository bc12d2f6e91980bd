"""Tests of fronts: their settings, the configuration of their agents, and requests that fronts don't get."""

import shutil
import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from django.utils import timezone

from dnspanel.accounts.models import AuditEntry, Role, User
from dnspanel.fleet import resync
from dnspanel.fleet.errors import BadFront, WrongState
from dnspanel.fleet.integrity import node_comparison
from dnspanel.fleet.models import Front, Node, NodeState
from dnspanel.fleet.nodes import fronts, node_computed_types, node_lifecycle
from dnspanel.fleet.nodes.fronts import Terms
from dnspanel.fleet.nodes.reported import read_report
from dnspanel.fleet.push import acks, maintenance
from dnspanel.fleet.rollout.gates import read_gates
from dnspanel.publish.keys.segment_signing import ensure_signing_key
from dnspanel.zones.errors import Forbidden
from replication.front.agent import FrontAgent
from replication.front.front_config import read_config
from tests.dnspanel.fleet.conftest import NOW, EnrolledAgent, create_active_node, create_front
from tests.people import make_person
from tests.ports import free_port

pytestmark = pytest.mark.django_db(transaction=True)

TERMS = Terms({"ns1": 1, "ns2": 3}, minimum=2, cache_entries=1000)


@pytest.fixture
def front() -> Node:
    """Create a front with two nodes behind it."""
    create_active_node("ns1")
    create_active_node("ns2")
    front = create_front()
    fronts.set_terms(node=front, terms=TERMS, now=NOW, by=None)
    return front


def expected_out(front: Node) -> dict[str, str]:
    """Return for each node of the front the reason why it is out of service, or ""."""
    row = Front.objects.get(node=front)
    return {backend.name: backend.out for backend in fronts.settings_of([row])[front.pk].backends}


def test_what_a_person_sets_is_kept_and_told(front: Node) -> None:
    assert fronts.terms_of(front) == TERMS
    event = AuditEntry.objects.get(action="front.change")
    assert event.details["after"]["backends"] == {"ns1": 1, "ns2": 3}
    fronts.set_terms(node=front, terms=TERMS, now=NOW, by=None)
    assert AuditEntry.objects.filter(action="front.change").count() == 1, "nothing was changed"


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"minimum": 0}, "minimum"),
        ({"behind_seconds": 0.1}, "behind_seconds"),
        ({"cache_entries": -1}, "cache_entries"),
        ({"backends": {"ns1": 0}}, "backends"),
        ({"backends": {"ns9": 1}}, "backends"),
        ({"backends": {"front1": 1}}, "backends"),
    ],
    ids=["minimum", "seconds", "cache", "weight", "unknown", "itself"],
)
def test_what_no_front_can_be_is_refused_at_its_field(front: Node, changes: dict[str, object], field: str) -> None:
    with pytest.raises(BadFront) as refused:
        fronts.set_terms(node=front, terms=replace(TERMS, **changes), now=NOW, by=None)  # type: ignore[arg-type]
    assert refused.value.field == field
    assert fronts.terms_of(front) == TERMS


def test_only_who_may_change_nodes_sets_a_front_and_a_node_is_none(front: Node) -> None:
    reader: User = make_person("rita", Role.READER)
    with pytest.raises(Forbidden):
        fronts.set_terms(node=front, terms=TERMS, now=NOW, by=reader)
    with pytest.raises(WrongState, match="ns1 is not a front"):
        fronts.set_terms(node=Node.objects.get(name="ns1"), terms=Terms(), now=NOW, by=None)
    with pytest.raises(WrongState, match="doesn’t store rows"):
        resync.check_now(node=front, now=NOW, by=None)


def test_drained_rejecting_and_revoked_nodes_are_out_and_retired_ones_gone(front: Node) -> None:
    ns1, ns2 = Node.objects.filter(name__in=("ns1", "ns2")).order_by("name")
    assert expected_out(front) == {"ns1": "", "ns2": ""}
    node_lifecycle.drain(node=ns1, now=timezone.now(), by=None, reason="new disks")
    acks.record_refusal(node_id=ns2.pk, message="no", now=NOW)
    assert expected_out(front) == {"ns1": "is drained. Reason: new disks", "ns2": "rejects updates. Reason: no"}
    node_lifecycle.resume(node=ns1, now=timezone.now(), by=None)
    acks.clear_refusal(node_id=ns2.pk)
    node_lifecycle.revoke(node=ns2, now=timezone.now(), by=None)
    assert expected_out(front) == {"ns1": "", "ns2": "is not enrolled"}
    node_lifecycle.retire(node=ns2, now=timezone.now(), by=None)
    assert expected_out(front) == {"ns1": ""}


def test_nobody_waits_for_a_front_in_a_rollout_and_it_is_asked_for_no_rows(front: Node) -> None:
    Node.objects.filter(pk=front.pk).update(state=NodeState.ACTIVE, contact_at=timezone.now(), report={"schema": 4})
    members = {member.name for stage in read_gates(now=timezone.now()).stages for member in stage.members}
    assert members == {"ns1", "ns2"}
    assert front.name not in {node.name for node in node_computed_types._answering_nodes()}
    assert node_comparison.compare_nodes(now=timezone.now()) == []


def test_a_front_goes_along_with_the_schema_of_the_nodes(front: Node) -> None:
    Node.objects.filter(is_front=False).update(schema=5)
    assert maintenance.schemas_of_nodes() == {5}
    maintenance.maintain_log(now=timezone.now())
    front.refresh_from_db()
    assert front.schema == 5
    assert create_front("front2").schema == 5


@pytest.fixture
def running(front: Node, tmp_path: Path) -> Iterator[Node]:
    """Run the front's agent without dnsdist."""
    if shutil.which("dnsdist") is None:
        pytest.skip("dnsdist is not installed")
    ensure_signing_key(now=timezone.now())
    port = free_port()
    Node.objects.filter(pk=front.pk).update(agent_port=port)
    front.refresh_from_db()
    enrolled = EnrolledAgent.__new__(EnrolledAgent)
    enrolled.directory, enrolled.node = tmp_path, front
    enrolled.enroll()
    path = tmp_path / "front.toml"
    path.write_text(
        f'state_dir = "state"\nidentity_dir = "identity"\nlisten = ["127.0.0.1:{free_port()}"]\n'
        f'panel_host = "127.0.0.1"\npanel_port = {port}\ncontrol_port = {free_port()}\napi_port = {free_port()}\n'
    )
    stop = threading.Event()
    with FrontAgent(read_config(path)) as agent:
        serving = threading.Thread(target=agent.serve, args=(stop,))
        serving.start()
        Node.objects.filter(pk=front.pk).update(contact_at=timezone.now())
        front.refresh_from_db()
        yield front
        stop.set()
        serving.join()


def test_its_agent_gets_what_is_new_and_again_what_it_lost(running: Node) -> None:
    now = timezone.now()
    assert fronts.push_settings(now=now) == 1
    assert fronts.push_settings(now=now) == 0, "it has them"
    row = Front.objects.get(node=running)
    assert row.pushed == fronts.settings_of([row])[running.pk].digest
    ns1 = Node.objects.get(name="ns1")
    node_lifecycle.drain(node=ns1, now=now, by=None)
    assert fronts.push_settings(now=now) == 1
    later = now + timedelta(seconds=14)
    lost = {"front": {"settings": "", "minimum": 1, "bypassed_zones": 0, "backends": []}}
    acks.record_reports(reports={running.pk: (later, lost)})
    Node.objects.filter(pk=running.pk).update(contact_at=later)
    assert fronts.push_settings(now=later) == 1
    Node.objects.filter(pk=running.pk).update(contact_at=now - timedelta(minutes=1))
    node_lifecycle.resume(node=ns1, now=now, by=None)
    assert fronts.push_settings(now=now) == 0, "one that is silent is not tried every second"


def test_a_report_says_dnsdist_and_what_cannot_be_read_is_none(front: Node) -> None:
    front.report = {"versions": {"agent": "1", "dnsdist": "1.7.3"}, "map_used": 0.0, "front": {"backends": 7}}
    reported = read_report(front)
    assert (reported.powerdns, reported.map_used) == ("dnsdist 1.7.3", None)
    assert fronts.report_of(front) is None
