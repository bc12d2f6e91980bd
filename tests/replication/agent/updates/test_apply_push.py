"""New zones of an import on a real PowerDNS: applied at once, acknowledged after it has read its list.

The waiting new zones are in `updates.unlisted`, and the queries to PowerDNS in `updates.prove`. The applier's handling
of all other pushes is tested through the agent, in `test_agent` and its neighbors.
"""

import threading
from collections.abc import Iterator
from contextlib import closing

import pytest

from replication.agent.powerdns.pdns_api import PdnsApi
from replication.agent.powerdns.zonecache import MAX_SINGLE, ZoneCache
from replication.agent.updates.apply_push import Applier
from replication.agent.updates.purge import ControlSocket, Purger, Receivers
from replication.errors import Busy, NotServed
from replication.store.store import Store
from replication.wire.position import Position
from replication.wire.protocol import Ack, Unanswered
from replication.wire.segment import open_segment
from tests.replication.agent.conftest import RunningNode
from tests.replication.agent.servers import API_KEY
from tests.replication.panel import CLUSTER, EPOCH, MAP_SIZE, PUBLIC_KEYS, Panel, records, small_zone
from tests.stack import until

ZONE = "example.test."
WWW = "www.example.test."
NEW = [f"new{number}.test." for number in range(MAX_SINGLE + 5)]


def at(sequence: int) -> Position:
    return Position(EPOCH, sequence)


class PausedZoneCache(ZoneCache):
    """A zone cache whose `read`, in its own thread, reports its start and waits until the test lets it continue."""

    begun, may_end = threading.Event(), threading.Event()

    def read(self) -> None:
        if threading.current_thread() is not threading.main_thread():
            self.begun.set()
            assert self.may_end.wait(20)
        super().read()


@pytest.fixture
def applier(node: RunningNode) -> Iterator[Applier]:
    """Return an applier in this process, on the files of a node whose agent has stopped. The test itself calls
    `read_list`.
    """
    node.agent.stop()
    PausedZoneCache.begun.clear()
    PausedZoneCache.may_end.clear()
    receivers = Receivers("127.0.0.1", node.pdns.port, node.pdns.cores)
    with Store.open(node.pdns.lmdb_path, 4, MAP_SIZE, cluster=CLUSTER) as store, closing(receivers):
        yield make_applier(node, store, receivers)


def make_applier(node: RunningNode, store: Store, receivers: Receivers) -> Applier:
    control = ControlSocket(str(node.pdns.control_socket))
    purger = Purger(control, receivers, PausedZoneCache(control, PdnsApi(node.pdns.api_port, API_KEY)))
    return Applier(store, purger, signing_keys=PUBLIC_KEYS, dns_address="127.0.0.1", dns_port=node.pdns.port)


def create_many(panel: Panel) -> bytes:
    return panel.create(*map(small_zone, NEW))


def edit(panel: Panel, zone: str, address: str) -> bytes:
    return panel.change(zone, records(zone, "www", "A", 300, address))


def test_edits_are_answered_while_the_list_is_read_and_acked_with_the_new_zones(
    node: RunningNode, applier: Applier, panel: Panel
) -> None:
    assert applier.apply(panel.create(small_zone(ZONE)), may_defer=True).position == at(1), "nothing to wait for"
    deferred = applier.apply(create_many(panel), may_defer=True)
    assert (deferred.position, deferred.applied) == (at(1), at(2))
    assert node.answer(f"www.{NEW[7]}") == ["REFUSED"], "which PowerDNS keeps in its packet cache"
    reading = threading.Thread(target=applier.read_list)
    reading.start()
    assert PausedZoneCache.begun.wait(20)
    edited = applier.apply(edit(panel, ZONE, "192.0.2.77"), may_defer=True)
    assert node.answer(WWW) == ["192.0.2.77"]
    assert (edited.position, edited.applied) == (at(1), at(3))
    unknown = applier.apply(edit(panel, NEW[3], "192.0.2.88"), may_defer=True)
    assert (unknown.position, unknown.applied) == (at(1), at(4)), "PowerDNS does not know this zone yet"
    assert Ack.from_json(applier.ack().to_json()) == applier.ack()
    PausedZoneCache.may_end.set()
    reading.join(20)
    assert (applier.ack().position, applier.ack().applied) == (at(4), None)
    assert (applier.ack().digest_main, applier.ack().digest_records) == panel.store.digests()
    assert [node.answer(f"www.{zone}") for zone in (NEW[7], NEW[3])] == [["192.0.2.1"], ["192.0.2.88"]]
    assert applier.health.answered == at(4)


def test_new_zones_that_come_while_the_list_is_read_wait_for_the_next_time(
    node: RunningNode, applier: Applier, panel: Panel
) -> None:
    applier.apply(panel.create(small_zone(ZONE)))
    applier.apply(create_many(panel), may_defer=True)
    reading = threading.Thread(target=applier.read_list)
    reading.start()
    assert PausedZoneCache.begun.wait(20)
    applier.apply(panel.create(*(small_zone(f"later-{zone}") for zone in NEW)), may_defer=True)
    PausedZoneCache.may_end.set()
    reading.join(20)
    assert (applier.ack().position, applier.ack().applied) == (at(2), at(3))
    read_list_until(applier, seconds=10)
    assert applier.ack().position == at(3)
    assert node.answer(f"www.later-{NEW[7]}") == ["192.0.2.1"]


def test_a_push_that_may_not_be_deferred_proves_what_was(node: RunningNode, applier: Applier, panel: Panel) -> None:
    applier.apply(panel.create(small_zone(ZONE)))
    applier.apply(create_many(panel), may_defer=True)
    ack = applier.apply(edit(panel, ZONE, "192.0.2.77"))
    assert (ack.position, ack.applied) == (at(3), None)
    assert node.answer(f"www.{NEW[7]}") == ["192.0.2.1"]
    assert applier.ack().position == at(3)


def test_a_smaller_push_acknowledges_its_own_part_of_what_was_not_proved(applier: Applier, panel: Panel) -> None:
    applier.apply(panel.create(small_zone(ZONE)))
    pushed = [edit(panel, ZONE, f"192.0.2.{number}") for number in range(1, 5)]
    first = panel_at(applier, pushed)
    part = applier.apply(b"".join(pushed[:2]), may_defer=True)
    assert (part.position, part.applied) == (at(3), None), "not what lies behind it in the files"
    assert (part.digest_main, part.digest_records) == first
    assert applier.ack().position == at(3)
    assert applier.health.answered == at(5), "so that nobody takes PowerDNS for one that was down"
    ack = applier.apply(b"".join(pushed[2:]), may_defer=True)
    assert (ack.position, ack.digest_main, ack.digest_records) == (at(5), *panel.store.digests())


def panel_at(applier: Applier, pushed: list[bytes]) -> tuple[bytes, bytes]:
    """Apply segments without proving them, so that the files are ahead of the ack. Return the digests after two."""
    for sealed in pushed[:2]:
        applier._store.apply(open_segment(sealed, PUBLIC_KEYS))
    digests = applier._store.digests()
    for sealed in pushed[2:]:
        applier._store.apply(open_segment(sealed, PUBLIC_KEYS))
    return digests


def test_one_unreadable_row_among_many_is_not_acknowledged(applier: Applier, panel: Panel) -> None:
    hosts = [records(ZONE, f"h{number}", "A", 60, "192.0.2.9") for number in range(150)]
    bad = records(ZONE, "www", "CERT", 60, "0 0 0 AQID")
    with pytest.raises(NotServed) as raised:
        applier.apply(panel.create(small_zone(ZONE, *hosts, bad)))
    assert (raised.value.question.split(" ")[0], raised.value.found) == (WWW, "SERVFAIL")


def test_zones_that_go_are_gone_with_the_push(node: RunningNode, applier: Applier, panel: Panel) -> None:
    applier.apply(create_many(panel))
    ack = applier.apply(panel.delete(*NEW), may_defer=True)
    assert (ack.position, ack.applied) == (at(2), None)
    assert node.answer(f"www.{NEW[7]}") == ["REFUSED"]


def test_nothing_is_acked_while_powerdns_does_not_answer(node: RunningNode, applier: Applier, panel: Panel) -> None:
    """New zones, and an edit whose push was refused, are acknowledged only after their own proof."""
    applier.apply(panel.create(small_zone(ZONE)))
    applier.apply(create_many(panel), may_defer=True)
    node.pdns.kill()
    change = edit(panel, ZONE, "192.0.2.77")
    with pytest.raises(NotServed):
        applier.apply(change, may_defer=True)
    applier.read_list()
    with pytest.raises(NotServed):
        applier.ack()
    node.pdns.start()
    applier.check_powerdns()  # proves that PowerDNS answers, but not the deferred zones
    assert applier.health.unserved == ""
    with pytest.raises(NotServed):
        applier.ack()
    read_list_until(applier, seconds=10)
    assert (applier.ack().position, applier.ack().applied) == (at(2), None), "the edit's push was refused"
    ack = applier.apply(change, may_defer=True)
    assert (ack.position, ack.applied) == (at(3), None)


def read_list_until(applier: Applier, *, seconds: float) -> None:
    """Read the list repeatedly, as the agent's thread does, until nothing waits for it."""

    def is_acked() -> bool:
        applier.read_list()
        try:
            return applier.ack().applied is None
        except NotServed:
            return False

    until(is_acked, seconds=seconds, what="everything to be acked")


def test_a_fault_of_ours_is_seen_and_does_not_end_the_thread(
    applier: Applier, panel: Panel, monkeypatch: pytest.MonkeyPatch
) -> None:
    applier.apply(panel.create(small_zone(ZONE)))
    applier.apply(create_many(panel), may_defer=True)
    with monkeypatch.context() as patched:
        patched.setattr(applier._purger, "read_list", lambda: 1 / 0)
        applier.read_list()
    with pytest.raises(NotServed, match="division by zero"):
        applier.ack()
    read_list_until(applier, seconds=10)
    assert applier.ack().position == at(2)


def test_what_computed_records_lack_is_in_every_ack(applier: Applier, panel: Panel) -> None:
    lacking = (Unanswered(ZONE, WWW, "ALIAS", "no answer"),)
    applier.apply(panel.create(small_zone(ZONE)))
    applier.prove_computed = lambda record_keys: lacking
    assert applier.apply(create_many(panel), may_defer=True).unanswered == lacking
    read_list_until(applier, seconds=10)
    assert applier.ack().unanswered == lacking


def test_an_agent_that_starts_has_no_ack_to_give_and_defers_nothing(
    node: RunningNode, applier: Applier, panel: Panel
) -> None:
    applier.apply(panel.create(small_zone(ZONE)))
    many = create_many(panel)
    applier.apply(many, may_defer=True)
    again = make_applier(node, applier._store, applier._purger._receivers)
    again.check_powerdns()
    with pytest.raises(Busy):
        again.ack()
    assert again.apply(many, may_defer=True).position == at(2)
    assert again.ack().applied is None


def test_the_agent_reads_the_list_by_itself(node: RunningNode, panel: Panel) -> None:
    first, many = panel.create(small_zone(ZONE)), create_many(panel)
    node.client.push(first, len(first), may_defer=True)
    assert node.client.push(many, len(many), may_defer=True).place == at(2)
    until(lambda: node.client.ack().applied is None, seconds=10, what="an ack of the new zones")
    assert node.client.ack().position == node.client.status().answered == at(2)
    assert node.answer(f"www.{NEW[7]}") == ["192.0.2.1"]
