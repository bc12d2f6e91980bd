"""Compiling a zone whole, and compiling only what changed."""

import random
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replication.codec import keys, values
from replication.codec.dnssec import Nsec3, nsec3_hash
from replication.compile import Row, WireRRset, _general_rows, _owned, compile_changes, compile_wires, compile_zone
from replication.dns import names, rdata, rrset
from replication.dns.rdtypes import AAAA, CNAME, DS, NS, SOA, TXT, A, type_from_text, type_to_text
from replication.dns.rrset import RRset
from replication.errors import BadRRset
from tests.full import examples

ZONE = "example.test."
RDATA = {
    A: "192.0.2.1",
    AAAA: "2001:db8::1",
    CNAME: "www.example.test.",
    DS: "1 13 2 " + "ab" * 32,
    NS: "ns.example.test.",
    SOA: "ns.example.test. hostmaster.example.test. 1 2 3 4 5",
    TXT: '"text"',
}


def one(name: str, type: int, ttl: int = 300) -> RRset:
    return rrset.make(name, type, ttl, [RDATA[type]], origin=ZONE)


def zone_of(*texts: str) -> list[RRset]:
    """RRsets of lines like `www A`, with an apex."""
    lines = [text.split() for text in ("@ SOA", "@ NS", *texts)]
    return [one(name, type_from_text(mnemonic)) for name, mnemonic in lines]


def readable(rows: list[Row]) -> dict[str, int]:
    """Rows as `name TYPE` → auth."""
    found = {}
    for rel, type, body in rows:
        name = names.relative_text(keys.name_from_relative_key(rel, ZONE), ZONE)
        found[f"{name} {type_to_text(type) if type else 'ENT'}"] = values.decode_records(body)[0].auth
    return found


class DictRows:
    """Rows of one zone in memory; counts what is read."""

    def __init__(self, rows: list[Row]) -> None:
        self.content = {(rel, type): body for rel, type, body in rows}
        self.read = 0

    def get(self, rel: bytes, type: int) -> bytes | None:
        self.read += 1
        return self.content.get((rel, type))

    def at(self, rel: bytes) -> list[tuple[int, bytes]]:
        self.read += 1
        return [(type, body) for (key, type), body in sorted(self.content.items()) if key == rel]

    def below(self, rel: bytes) -> Iterator[Row]:
        for (key, type), body in sorted(self.content.items()):
            if key != rel and (rel == keys.APEX or key.startswith(rel)):
                self.read += 1
                yield key, type, body


def test_rows_come_in_the_order_of_record_keys() -> None:
    rows = compile_zone(ZONE, zone_of("www A", "www AAAA", "a.www A", "www2 A", "*.www TXT"))
    record_keys = [keys.record_key(1, rel, type) for rel, type, _ in rows]
    assert record_keys == sorted(record_keys)
    assert rows[0][:2] == (keys.APEX, NS)


def in_wire_form(rrsets: list[RRset]) -> list[WireRRset]:
    return [
        (
            keys.relative_key(item.name, ZONE),
            item.type,
            item.ttl,
            [rdata.to_wire(item.type, text) for text in item.served],
        )
        for item in rrsets
    ]


@pytest.mark.parametrize(
    "lines",
    [
        ["www A", "www AAAA"],
        ["a.b.c A", "x.b.c A", "d TXT"],
        ["a.b.c A", "b.c TXT", "c A"],
        ["sub NS", "sub DS", "ns.sub A", "x.y.sub A"],
        ["x.sub NS", "a.b.x.sub A", "www DS"],
    ],
)
def test_wire_forms_compile_as_texts_do(lines: list[str]) -> None:
    """Against the general way, which `compile_wires` takes only where something is delegated."""
    rrsets = zone_of(*lines)
    expected = _general_rows(ZONE, _owned(in_wire_form(rrsets)), None)
    assert compile_wires(ZONE, in_wire_form(rrsets)) == expected
    assert compile_wires(ZONE, reversed(in_wire_form(rrsets))) == expected
    assert compile_zone(ZONE, rrsets) == expected


def test_an_rrset_without_served_records_is_absent() -> None:
    rrsets = in_wire_form(zone_of("www A"))
    assert compile_wires(ZONE, [*rrsets, (b"a\0b\0", A, 60, []), (b"sub\0", NS, 60, [])]) == compile_wires(ZONE, rrsets)


def test_a_name_between_two_names_gets_an_empty_non_terminal() -> None:
    found = readable(compile_zone(ZONE, zone_of("a.b.c A")))
    assert {name: auth for name, auth in found.items() if "ENT" in name} == {"b.c ENT": True, "c ENT": True}


def test_delegations_and_what_is_below_them_are_not_authoritative_but_ds_is() -> None:
    found = readable(compile_zone(ZONE, zone_of("sub NS", "sub DS", "sub TXT", "ns.sub A", "x.y.sub A", "x.y.sub DS")))
    assert found == {
        "@ SOA": True,
        "@ NS": True,
        "sub NS": False,
        "sub DS": True,
        "sub TXT": False,
        "ns.sub A": False,
        "x.y.sub A": False,
        "x.y.sub DS": True,
        "y.sub ENT": False,
    }


def test_an_empty_non_terminal_over_delegations_alone_is_not_authoritative() -> None:
    assert readable(compile_zone(ZONE, zone_of("a.net NS", "b.net NS")))["net ENT"] is False
    assert readable(compile_zone(ZONE, zone_of("a.net NS", "b.net A")))["net ENT"] is True


def test_disabled_records_do_not_travel() -> None:
    half = rrset.make("www", A, 300, ["192.0.2.1", "192.0.2.2"], disabled=["192.0.2.1"], origin=ZONE)
    full = rrset.make("off.deep", A, 300, ["192.0.2.1"], disabled=["192.0.2.1"], origin=ZONE)
    rows = compile_zone(ZONE, [half, full])
    assert [(rel, type) for rel, type, _ in rows] == [(b"www\0", A)]
    assert [record.content for record in values.decode_records(rows[0][2])] == [bytes((192, 0, 2, 2))]


def test_a_name_outside_the_zone_is_refused() -> None:
    with pytest.raises(BadRRset, match="not within the zone"):
        compile_zone(ZONE, [one("www.other.test.", A)])


def test_the_root_zone_compiles() -> None:
    rows = compile_zone(".", [rrset.make("test.", NS, 300, ["ns.test."])])
    assert [(rel, type) for rel, type, _ in rows] == [(b"test\0", NS)]


def test_nsec3_adds_a_pair_of_rows_for_each_name_of_the_chain() -> None:
    rows = compile_zone(ZONE, zone_of("www A"), nsec3=Nsec3())
    helpers = {(rel, body) for rel, type, body in rows if type == 50}
    apex_hash = nsec3_hash(ZONE, b"", 0)
    assert len(helpers) == 4
    assert (keys.APEX, bytes.fromhex("220020") + apex_hash + bytes.fromhex("0001000000000000")) in helpers
    assert (apex_hash + b"\0", bytes.fromhex("01000000000000000000")) in helpers


def test_opt_out_leaves_insecure_delegations_out_of_the_chain() -> None:
    zone = zone_of("insecure NS", "secure NS", "secure DS", "e.insecure2 NS")
    with_it = {rel for rel, type, body in compile_zone(ZONE, zone, nsec3=Nsec3(opt_out=True)) if type == 50}
    assert b"insecure\0" not in with_it
    assert b"secure\0" in with_it
    assert b"insecure2\0" not in with_it


def test_narrow_mode_needs_no_helper_rows() -> None:
    assert all(type != 50 for _, type, _ in compile_zone(ZONE, zone_of("www A"), nsec3=Nsec3(narrow=True)))


LABELS = ["a", "b", "*", "ns", "\\001", "\\255x", "a-", "\\."]
NAMES = st.lists(st.sampled_from(LABELS), min_size=0, max_size=4).map(
    lambda labels: ".".join([*labels, ZONE]) if labels else ZONE
)
TYPES = st.sampled_from([A, TXT, NS, NS, DS, AAAA])
CONTENT = st.dictionaries(st.tuples(NAMES, TYPES), st.integers(0, 2), max_size=14)
# A TTL of None deletes.
EDITS = st.dictionaries(st.tuples(NAMES, TYPES), st.none() | st.integers(0, 2), max_size=6)


@settings(max_examples=300, deadline=None)
@given(content=CONTENT, order=st.randoms(use_true_random=False))
def test_the_fast_way_and_the_general_way_compile_the_same(
    content: dict[tuple[str, int], int], order: random.Random
) -> None:
    rrsets = in_wire_form([one(*key, ttl) for key, ttl in content.items()])
    expected = _general_rows(ZONE, _owned(rrsets), None)
    order.shuffle(rrsets)
    assert compile_wires(ZONE, rrsets) == expected
    plain = [item for item in rrsets if item[1] != NS or item[0] == keys.APEX]
    assert compile_wires(ZONE, iter(plain)) == _general_rows(ZONE, _owned(plain), None)


@settings(max_examples=examples(150, 600), deadline=None)
@given(content=CONTENT, edits=st.lists(EDITS, max_size=4), data=st.data())
def test_compiling_changes_equals_the_difference_of_two_full_compiles(
    content: dict[tuple[str, int], int], edits: list[dict[tuple[str, int], int | None]], data: st.DataObject
) -> None:
    zone = {key: one(*key, ttl) for key, ttl in content.items()}
    for edit in edits:
        # Deleting at random rarely hits; so delete some that are there too.
        if zone:
            edit = edit | dict.fromkeys(data.draw(st.lists(st.sampled_from(sorted(zone)), max_size=4)), None)
        changed = {key: None if ttl is None else one(*key, ttl) for key, ttl in edit.items()}
        rows = DictRows(compile_zone(ZONE, zone.values()))
        for key, new in changed.items():
            zone.pop(key, None)
            if new is not None:
                zone[key] = new
        after = {(rel, type): body for rel, type, body in compile_zone(ZONE, zone.values())}
        expected: dict[tuple[bytes, int], bytes | None] = {
            key: after.get(key) for key in rows.content.keys() | after.keys() if rows.content.get(key) != after.get(key)
        }
        assert compile_changes(ZONE, rows, changed) == expected


@pytest.mark.parametrize("size", [100, 3000])
def test_the_reads_of_one_change_do_not_grow_with_the_zone(size: int) -> None:
    rows = DictRows(compile_zone(ZONE, zone_of(*(f"h{n}.deep A" for n in range(size)))))
    compile_changes(ZONE, rows, {("h50.deep." + ZONE, A): one("h50.deep", A, 60)})
    compile_changes(ZONE, rows, {("new.deep." + ZONE, A): one("new.deep", A)})
    compile_changes(ZONE, rows, {("h50.deep." + ZONE, A): None})
    assert rows.read < 40
