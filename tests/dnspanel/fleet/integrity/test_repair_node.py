"""Tests of repairs of a node with wrong content: of one zone, after a check of all rows, or by a snapshot."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from django.utils import timezone

from dnspanel.fleet import tasks
from dnspanel.fleet.integrity import repair_node
from dnspanel.fleet.models import Bootstrap, Divergence, Node
from dnspanel.fleet.push.agent_connections import AgentConnection, connections
from dnspanel.publish.encoding.encode import encode_step
from dnspanel.zones.acting import Acting
from dnspanel.zones.models import Zone
from dnspanel.zones.publishing import edit
from replication.codec import keys
from replication.dns import rdtypes
from replication.errors import BadSegment, NodeUnreachable
from replication.store.file_row import ROW_KEY
from replication.store.zone_digests import Running, put_digest
from tests.dnspanel.fleet.conftest import Served
from tests.dnspanel.publish.encoding.test_encode import change, create, rrset
from tests.replication.panel import zone_digest

pytestmark = pytest.mark.django_db(transaction=True)

Serve = Callable[..., Served]
WWW = "www.example.test."


@pytest.fixture
def made(served: Serve, monkeypatch: pytest.MonkeyPatch) -> Served:
    """Return a node with two zones and all publications that has checked its rows."""
    monkeypatch.setattr(repair_node, "_PAUSE_SECONDS", 0.0)
    monkeypatch.setattr(repair_node, "_POLL_SECONDS", 0.01)
    made = served()
    create("example.test.", rrset(WWW, rdtypes.A, "192.0.2.1"))
    create("other.test.", rrset("www.other.test.", rdtypes.A, "192.0.2.2"))
    bring(made)
    made.agent.check()
    return made


def bring(made: Served) -> None:
    while encode_step(now=timezone.now()):
        pass
    tasks.push_node(made.node.pk)


def repair(made: Served) -> bool:
    return repair_node.repair(made.node.pk, connections[made.node.pk])


def www_key(zone: str = "example.test.") -> bytes:
    return keys.record_key(Zone.objects.get(name=zone).pk, b"www\0", rdtypes.A)


def alter(made: Served, key: bytes, value: bytes | None) -> None:
    """Save a node's records directly in its LMDB."""
    table = made.agent.store._records
    with table.env.begin(write=True) as txn:
        if value is None:
            txn.delete(key, db=table.tables[0])
        else:
            txn.put(key, value, db=table.tables[0])


def digest_equal() -> bool | None:
    return Node.objects.get().digest_equal


def test_a_node_that_is_as_it_should_be_is_left_alone(made: Served) -> None:
    assert not repair(made)
    assert digest_equal() is True
    assert made.agent.repairs == []
    assert not Divergence.objects.exists()


def test_a_zone_that_the_node_names_is_sent_and_the_story_is_kept(made: Served) -> None:
    wanted = zone_digest(made.agent.store, Zone.objects.get(name="example.test.").pk)
    alter(made, www_key(), b"wrong")
    made.agent.check()
    assert repair(made)
    assert made.agent.repairs == ["example.test."]
    row = Divergence.objects.get()
    assert row.zone_name == "example.test."
    assert row.words.endswith(f": {WWW} A was not what the panel wrote")
    assert row.repaired_at is not None
    assert digest_equal() is True
    assert zone_digest(made.agent.store, row.zone_id) == wanted
    assert not Bootstrap.objects.exists()


def test_several_zones_are_sent_one_by_one(made: Served) -> None:
    alter(made, www_key(), None)
    alter(made, www_key("other.test."), None)
    made.agent.check()
    assert repair(made)
    assert sorted(made.agent.repairs) == ["example.test.", "other.test."]
    assert Divergence.objects.exclude(repaired_at=None).count() == 2


def test_a_foreign_zone_is_removed(made: Served) -> None:
    store = made.agent.store
    with store._main.env.begin(write=True) as txn:
        for dbi, key, body in store.schema.zone_rows(2**31, "foreign.test."):
            txn.put(key, body, db=store._main.tables[dbi])
    made.agent.check()
    assert repair(made)
    assert store.zone_id("foreign.test.") is None
    assert Divergence.objects.get().zone_id == 2**31


def test_a_node_behind_gets_the_zone_as_it_was_at_the_nodes_position(made: Served) -> None:
    alter(made, www_key(), None)
    zone = Zone.objects.get(name="example.test.")
    change(zone, rrset(WWW, rdtypes.A, "192.0.2.99"))
    while encode_step(now=timezone.now()):
        pass
    made.agent.check()
    assert repair(made)
    body = made.agent.store.rows(zone.pk).get(b"www\0", rdtypes.A)
    assert body is not None
    assert bytes((192, 0, 2, 1)) in body
    tasks.push_node(made.node.pk)
    assert Node.objects.get().refusal == ""
    body = made.agent.store.rows(zone.pk).get(b"www\0", rdtypes.A)
    assert body is not None
    assert bytes((192, 0, 2, 99)) in body


def test_a_zone_deleted_later_is_repaired_while_the_node_is_not_that_far(made: Served) -> None:
    alter(made, www_key(), None)
    zone = Zone.objects.get(name="example.test.")
    edit.delete_zone(zone=zone, acting=Acting(None, "system", timezone.now()))
    while encode_step(now=timezone.now()):
        pass
    made.agent.check()
    assert repair(made)
    assert made.agent.store.zone_id("example.test.") == zone.pk
    tasks.push_node(made.node.pk)
    assert made.agent.store.zone_id("example.test.") is None
    assert Node.objects.get().refusal == ""


def test_digests_that_differ_without_a_name_make_the_node_look_first(made: Served) -> None:
    """The check corrects the digest here: the rows were right, and only the sum had drifted."""
    drift(made)
    checks = made.agent.checks
    assert repair(made)
    assert made.agent.checks == checks + 1
    assert digest_equal() is True
    assert not Bootstrap.objects.exists()


def drift(made: Served) -> None:
    table = made.agent.store._records
    with table.env.begin(write=True) as txn:
        row = table.row(txn)
        assert row is not None
        txn.put(ROW_KEY, replace(row, digest=row.digest + 1).encode(), db=table.own)


def test_what_no_look_explains_gets_a_snapshot(made: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """The node has wrong rows with matching digests, but the panel has other content."""
    alter(made, www_key(), b"wrong")
    table = made.agent.store._records
    zone_id = Zone.objects.get(name="example.test.").pk
    with table.env.begin(write=True) as txn:
        wrong = int.from_bytes(zone_digest(made.agent.store, zone_id), "big")
        put_digest(txn, table, zone_id, Running(wrong))
    drift(made)
    assert repair(made)
    assert digest_equal() is False
    assert "no zone with differences was found" in Bootstrap.objects.get().reason


def test_a_node_that_waits_for_a_snapshot_is_not_repaired(made: Served) -> None:
    Bootstrap.objects.create(node=made.node, reason="why not", schema=4, asked_at=timezone.now())
    alter(made, www_key(), None)
    made.agent.check()
    assert not repair(made)
    assert made.agent.repairs == []


def test_a_zone_that_cannot_be_repaired_says_why_and_ends_in_a_snapshot(
    made: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(body: bytes) -> dict[str, object]:
        raise BadSegment(reason="the disk has a bad day")

    alter(made, www_key(), None)
    made.agent.check()
    monkeypatch.setattr(made.agent, "repair", refuse)
    assert repair(made)
    assert "the disk has a bad day" in Divergence.objects.get().error
    assert Bootstrap.objects.get().reason == "1 zone differs again after every repair"


def test_only_one_mends_a_node_at_a_time(made: Served) -> None:
    connection = connections[made.node.pk]
    with connection.repairing:
        alter(made, www_key(), None)
        made.agent.check()
        assert not repair(made)
    assert repair(made)


def test_a_dead_node_is_left_to_beat(made: Served) -> None:
    made.agent.stop()
    connections.close()
    with pytest.raises(NodeUnreachable):
        repair_node.repair(made.node.pk, AgentConnection())
    tasks.mend_node(made.node.pk)  # the task only logs it


def test_a_push_that_meets_altered_rows_wakes_the_repair_and_gets_through_after_it(
    made: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    woken: list[Any] = []
    monkeypatch.setattr(
        tasks.mend_node, "apply_async", lambda args, **options: woken.append((args, options["countdown"]))
    )
    alter(made, www_key(), b"\4\0\xc0\0\2\x63\x2c\1\0\0\1\0\0")
    change(Zone.objects.get(name="example.test."), rrset(WWW, rdtypes.A, "192.0.2.99"))
    bring(made)
    assert "digest" in Node.objects.get().refusal
    assert woken == [((made.node.pk,), tasks.MENDING_DELAY)]
    made.agent.check()
    pushed: list[Any] = []
    monkeypatch.setattr(tasks.push_node, "apply_async", lambda args, **options: pushed.append(args))
    tasks.mend_node(made.node.pk)
    assert pushed == [(made.node.pk,)]
    tasks.push_node(made.node.pk)
    assert (Node.objects.get().refusal, Node.objects.get().acked) == ("", 3)
