"""The names to purge after a change: decided from rows, and tested for old answers on a real PowerDNS.

Tests `updates.touched` too.
"""

import random
from collections.abc import Sequence
from pathlib import Path

import dns.message
import pytest

from replication import verify
from replication.agent.updates.purge import EVERYTHING, MAX_ZONES, ControlSocket, targets
from replication.agent.updates.stale import MAX_NAMES, ZoneChange, changes_in
from replication.agent.updates.touched import Touched
from replication.codec import keys
from replication.codec.schema import Dbi
from replication.dns import rdtypes
from replication.dns.rrset import RRset
from replication.store.store import Store
from replication.wire.operations import Op, OpKind, ZoneMark
from replication.wire.segment import open_segment
from tests.replication.agent.conftest import RunningNode
from tests.replication.panel import CLUSTER, MAP_SIZE, PUBLIC_KEYS, Key, Panel, csk, records, small_zone

ZONE = "example.test."
ALWAYS = {ZONE, f"ns1.{ZONE}", f"www.{ZONE}"}


# --- the decision


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """Return a node's store, which is empty at first."""
    (tmp_path / "node").mkdir()
    return Store.open(tmp_path / "node" / "pdns.lmdb", 4, MAP_SIZE, cluster=CLUSTER)


def follow(store: Store, *sealed: bytes) -> None:
    for segment in sealed:
        store.apply(open_segment(segment, PUBLIC_KEYS))


def stale_after(store: Store, sealed: bytes) -> list[set[str] | None]:
    """Apply a segment. Return the names to purge for each of its zones, or None for a whole zone."""
    found = [change.stale_names(store) for change in changes_of(store, sealed)]
    return [None if names is None else set(names) for names in found]


def changes_of(store: Store, *sealed: bytes) -> list[ZoneChange]:
    """Apply segments. Return the changes to zones, based on the rows before each segment."""
    changes = []
    for segment in (open_segment(content, PUBLIC_KEYS) for content in sealed):
        changes += changes_in(segment, segment.marks(), store)
        store.apply(segment)
    return changes


def published(panel: Panel, store: Store, *more: RRset) -> None:
    follow(store, panel.create(small_zone(ZONE, *more)))


def rr(name: str, type: str, *rdata: str) -> RRset:
    return records(ZONE, name, type, 300, *rdata)


@pytest.mark.parametrize(
    ("change", "more"),
    [
        ((rr("www", "A", "192.0.2.2"),), set()),
        ((rr("new", "A", "192.0.2.2"),), {"new"}),
        ((rr("a.b.c", "A", "192.0.2.2"),), {"a.b.c", "b.c", "c"}),
        (((f"www.{ZONE}", rdtypes.A),), set()),
        ((rr("www", "TXT", '"beside"'),), set()),
        ((rr("@", "NS", "ns1", "ns3"),), set()),
        ((rr("@", "MX", "10 www"),), set()),
    ],
)
def test_all_names_of_the_zone_are_forgotten_and_those_that_came_or_went(
    panel: Panel, store: Store, change: Sequence[RRset | Key], more: set[str]
) -> None:
    published(panel, store)
    assert stale_after(store, panel.change(ZONE, *change)) == [ALWAYS | {f"{name}.{ZONE}" for name in more}]


@pytest.mark.parametrize(
    "row",
    [
        rr("*", "CNAME", "www"),
        rr("*", "MX", "10 www"),
        rr("*.deep", "SRV", "1 0 443 www"),
        rr("sub", "NS", "ns.elsewhere.test."),
        rr("sub", "DS", "1 13 2 " + "ab" * 32),
        rr("old", "DNAME", "elsewhere.test."),
    ],
)
def test_a_row_that_answers_for_other_names_purges_the_zone(panel: Panel, store: Store, row: RRset) -> None:
    published(panel, store)
    assert stale_after(store, panel.change(ZONE, row)) == [None], "when it appears"
    assert stale_after(store, panel.change(ZONE, rr("www", "A", "192.0.2.9"))) == [None], "while it is there"
    assert stale_after(store, panel.change(ZONE, (row.name, row.type))) == [None], "when it goes"
    assert stale_after(store, panel.change(ZONE, rr("www", "A", "192.0.2.8"))) == [ALWAYS]


@pytest.mark.parametrize("owner", ["*", "*.deep"])
def test_a_wildcard_that_stays_answers_as_before_while_the_same_names_exist(
    panel: Panel, store: Store, owner: str
) -> None:
    published(panel, store, rr("a.b", "A", "192.0.2.3"))
    wildcard = rr(owner, "A", "192.0.2.2")
    below = {f"a.b.{ZONE}", f"b.{ZONE}"}
    names = ALWAYS | below | {wildcard.name, wildcard.name.removeprefix("*.")}
    assert stale_after(store, panel.change(ZONE, wildcard)) == [None], "when it appears"
    assert stale_after(store, panel.change(ZONE, rr("www", "A", "192.0.2.9"))) == [names], "while it stays"
    assert stale_after(store, panel.change(ZONE, rr("www", "TXT", '"beside"'))) == [names], "another type of a name"
    assert stale_after(store, panel.change(ZONE, rr("b", "A", "192.0.2.9"))) == [names], "one that existed by others"
    assert stale_after(store, panel.change(ZONE, rr("new", "A", "192.0.2.9"))) == [None], "a name comes"
    assert stale_after(store, panel.change(ZONE, (f"new.{ZONE}", rdtypes.A))) == [None], "a name goes"
    assert stale_after(store, panel.change(ZONE, rr(owner, "A", "192.0.2.4"))) == [None], "when it changes"
    assert stale_after(store, panel.change(ZONE, rr(owner, "TXT", '"more"'))) == [None], "when it gets another type"
    assert stale_after(store, panel.change(ZONE, (wildcard.name, rdtypes.A))) == [None], "when a part of it goes"
    assert stale_after(store, panel.change(ZONE, (wildcard.name, rdtypes.TXT))) == [None], "when it goes"
    assert stale_after(store, panel.change(ZONE, rr("new", "A", "192.0.2.9"))) == [ALWAYS | below | {f"new.{ZONE}"}]


def test_a_name_that_came_and_went_in_one_push_purges_a_zone_with_a_wildcard(panel: Panel, store: Store) -> None:
    published(panel, store, rr("*", "A", "192.0.2.2"))
    came, again = panel.change(ZONE, rr("new", "A", "192.0.2.9")), panel.change(ZONE, rr("new", "A", "192.0.2.8"))
    first, second = changes_of(store, came, again)
    assert second.stale_names(store) is not None
    assert first.followed_by(second).stale_names(store) is None


def test_of_the_soa_only_another_serial_changes_no_other_answer(panel: Panel, store: Store) -> None:
    published(panel, store)
    minimum = records(ZONE, "@", "SOA", 3600, "ns1 hostmaster 9 10800 3600 604800 60")
    assert stale_after(store, panel.change(ZONE, minimum)) == [None]
    assert stale_after(store, panel.change(ZONE)) == [ALWAYS]
    shorter = records(ZONE, "@", "SOA", 60, "ns1 hostmaster 11 10800 3600 604800 60")
    assert stale_after(store, panel.change(ZONE, shorter)) == [None]


def test_a_zone_with_many_names_is_purged_as_one(panel: Panel, store: Store) -> None:
    published(panel, store, *(rr(f"h{number}", "A", "192.0.2.2") for number in range(MAX_NAMES - len(ALWAYS))))
    (names,) = stale_after(store, panel.change(ZONE, rr("www", "A", "192.0.2.2")))
    assert names is not None
    assert len(names) == MAX_NAMES
    assert stale_after(store, panel.change(ZONE, rr("one-more", "A", "192.0.2.2"))) == [None]
    many = [rr(f"g{number}", type, '"x"') for number in range(MAX_NAMES * 3) for type in ("TXT", "SPF")]
    assert stale_after(store, panel.change(ZONE, *many)) == [None]


def test_a_zone_that_appears_or_goes_is_not_told_by_names(panel: Panel, store: Store) -> None:
    assert stale_after(store, panel.create(small_zone(ZONE))) == []
    assert stale_after(store, panel.delete(ZONE)) == []


def test_rows_that_go_by_prefix_are_not_told_by_names(panel: Panel, store: Store) -> None:
    published(panel, store)
    (zone_id, _), prefix = panel.zones[ZONE], keys.zone_prefix(panel.zones[ZONE][0])
    below = Op(OpKind.DELETE_PREFIX, Dbi.RECORDS, prefix + b"www\0", b"")
    assert stale_after(store, panel.seal([below], [ZoneMark(zone_id, ZONE, 1)])) == []


def test_a_zone_that_is_only_marked_has_all_its_names_forgotten(panel: Panel, store: Store) -> None:
    """The panel marks such a zone if a CNAME in it points at a changed name."""
    published(panel, store)
    follow(store, panel.create(small_zone("other.test.")))
    marks = [ZoneMark(panel.zones[ZONE][0], ZONE, 1), ZoneMark(panel.zones["other.test."][0], "other.test.", 1)]
    key = keys.record_key(panel.zones["other.test."][0], b"www\0", rdtypes.A)
    body = panel.store.rows(panel.zones[ZONE][0]).get(b"www\0", rdtypes.A)
    assert body is not None
    found = stale_after(store, panel.seal([Op(OpKind.PUT, Dbi.RECORDS, key, body)], marks))
    assert found == [ALWAYS, {name.replace(ZONE, "other.test.") for name in ALWAYS}]


def test_two_changes_as_one_know_the_soa_before_both(panel: Panel, store: Store) -> None:
    published(panel, store)
    one = records(ZONE, "@", "SOA", 3600, "ns1 hostmaster 9 10800 3600 604800 60")
    first, second = changes_of(store, panel.change(ZONE, one), panel.change(ZONE))
    assert second.stale_names(store) is not None
    assert first.followed_by(second).stale_names(store) is None


def test_a_push_of_more_zones_than_are_noted_forgets_everything(panel: Panel, store: Store) -> None:
    """The names of each segment alone could be purged. The last zones of the push aren't stored."""
    zones = [f"z{number}.test." for number in range(MAX_ZONES + 50)]
    follow(store, panel.create(*(small_zone(zone) for zone in zones)))
    touched = Touched()
    for half in (zones[:150], zones[150:]):
        owner = "www" if half[0] == zones[0] else "*"  # the first half is purged by names, the second by zones
        change = panel.change_all({zone: [records(zone, owner, "A", 300, "192.0.2.7")] for zone in half})
        segment = open_segment(change, PUBLIC_KEYS)
        touched.add_changes(segment, store)
        store.apply(segment)
    assert targets(*touched.stale(store)) == EVERYTHING


@pytest.mark.parametrize(("begin", "end"), [(50, 150), (50, MAX_ZONES + 50)])
def test_two_pushes_as_one_forget_the_zones_of_both(begin: int, end: int) -> None:
    """A zone in both pushes counts once. With more zones than are stored, everything is purged."""
    first, second = Touched(), Touched()
    first.zones.update(f"z{number}.test." for number in range(100))
    second.zones.update(f"z{number}.test." for number in range(begin, end))
    first.add(second)
    if end <= MAX_ZONES:
        assert first.zones == {f"z{number}.test." for number in range(end)}
    else:
        assert targets(first.zones) == EVERYTHING


# --- on a real PowerDNS

TYPES = (rdtypes.A, rdtypes.TXT, rdtypes.MX, rdtypes.SRV, rdtypes.CNAME, rdtypes.NS, rdtypes.SOA, 255)
HOSTS = ("www", "mail", "a.b", "b", "x.y.z")
QUESTIONS = (
    "@",
    *HOSTS,
    "y.z",
    "z",
    "alias",
    "nothing",
    "below.www",
    "deep.nothing",
    "sub",
    "host.sub",
    "ns1",
    "q.b",
    "q.a.b",
)


def everything(node: RunningNode) -> dict[tuple[str, int], object]:
    """Return all answers of PowerDNS, except the serials in negative answers."""
    found: dict[tuple[str, int], object] = {}
    for label in QUESTIONS:
        name = ZONE if label == "@" else f"{label}.{ZONE}"
        for type in TYPES:
            message = verify.ask("127.0.0.1", node.pdns.port, name, type, 2)
            found[label, type] = (message.rcode(), *(lines(message, section) for section in range(1, 4)))
    return found


def lines(message: dns.message.Message, section: int) -> list[str]:
    found = []
    for rrset in message.sections[section]:
        for item in rrset:
            fields = item.to_text().split()
            if rrset.rdtype == rdtypes.SOA and not message.answer:
                fields[2] = "serial"
            found.append(f"{rrset.name} {rrset.ttl} {rrset.rdtype} {' '.join(fields)}")
    return sorted(found)


def some_change(chance: random.Random, panel: Panel) -> list[RRset | Key]:
    """Return a random change: RRsets to put, or keys of RRsets to delete."""
    label, target = chance.choice(HOSTS), chance.choice(HOSTS)
    number = chance.randrange(1, 250)
    expected = chance.choice(
        [
            rr(label, "A", f"192.0.2.{number}"),
            rr(label, "A", f"192.0.2.{number}", "192.0.2.251"),
            rr(label, "TXT", f'"{number}"'),
            rr("@", "MX", f"{number} {target}"),
            rr(label, "SRV", f"{number} 0 443 {target}"),
            rr("alias", "CNAME", target),
            rr("@", "NS", "ns1", target),
            rr("*", "TXT", f'"{number}"') if number % 3 == 0 else rr("nothing", "TXT", f'"{number}"'),
            *([rr("*", "A", f"192.0.2.{number}"), rr("*.b", "TXT", f'"{number}"')] if number % 2 == 0 else []),
            *([rr("*", "MX", f"{number} {target}")] if number % 8 == 0 else []),
            rr("sub", "NS", f"{target}") if number % 3 == 0 else rr("host.sub", "A", f"192.0.2.{number}"),
        ]
    )
    here = panel.zones[ZONE][1]
    deletable = [key for key in here if key[1] != rdtypes.SOA and key != (ZONE, rdtypes.NS)]
    if chance.random() < 0.45 and len(deletable) > 1:
        return [chance.choice(deletable)]
    return [expected]


@pytest.mark.sample(1, reason="seeds of changes after which nothing old may be answered")
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_no_answer_is_older_than_the_ack_whatever_changes(node: RunningNode, panel: Panel, seed: int) -> None:
    """All answers are cached. After each push they equal the answers of empty caches."""
    chance = random.Random(seed)
    sealed = panel.create(small_zone(ZONE))
    node.client.push(sealed, len(sealed))
    control = ControlSocket(str(node.pdns.control_socket))
    for round_ in range(25):
        everything(node)
        segments = [panel.change(ZONE, *some_change(chance, panel)) for _ in range(chance.choice([1, 1, 1, 2]))]
        push = b"".join(segments)
        node.client.push(push, len(push))
        after = everything(node)
        control.send("purge")
        assert after == everything(node), f"round {round_}"


def test_the_serial_beside_a_negative_answer_is_all_that_may_be_older(node: RunningNode, panel: Panel) -> None:
    """This also shows that single names are purged, not the whole zone."""
    sealed = panel.create(small_zone(ZONE))
    node.client.push(sealed, len(sealed))

    def serial_beside(name: str) -> str:
        message = verify.ask("127.0.0.1", node.pdns.port, name, rdtypes.A, 2)
        assert message.rcode().name == "NXDOMAIN"
        return str(message.authority[0][0].to_text().split()[2])

    assert serial_beside(f"nothing.{ZONE}") == "1"
    change = panel.change(ZONE, rr("www", "A", "192.0.2.2"))
    node.client.push(change, len(change))
    assert serial_beside(f"nothing.{ZONE}") == "1"
    assert serial_beside(f"never-asked.{ZONE}") == "2"
    assert node.answer(ZONE, rdtypes.SOA)[0].split()[2] == "2"


# --- signed zones


@pytest.mark.parametrize("active", [True, False])
def test_a_zone_with_keys_is_forgotten_whole(store: Store, panel: Panel, active: bool) -> None:
    follow(store, panel.create(small_zone(ZONE)))
    change = records(ZONE, "www", "A", 300, "192.0.2.2")
    assert stale_after(store, panel.change(ZONE, change)) == [ALWAYS]
    follow(store, panel.attach(ZONE, keys_=[csk(ZONE, active=active)]))
    assert stale_after(store, panel.change(ZONE, records(ZONE, "www", "A", 300, "192.0.2.3"))) == [None]
    follow(store, panel.attach(ZONE))
    assert stale_after(store, panel.change(ZONE, records(ZONE, "www", "A", 300, "192.0.2.4"))) == [ALWAYS]


def test_a_segment_that_changes_keys_is_not_purged_by_names(store: Store, panel: Panel) -> None:
    follow(store, panel.create(small_zone(ZONE)))
    assert changes_of(store, panel.attach(ZONE, keys_=[csk(ZONE)])) == []
