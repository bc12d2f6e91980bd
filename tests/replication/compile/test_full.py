"""Tests of the compiler of whole zones."""

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from replication.codec import keys, values
from replication.codec.dnssec import Nsec3, nsec3_hash
from replication.compile import Row, WireRRset, compile_wires, compile_zone
from replication.compile.full import _general_rows, _rrsets_by_owner
from replication.dns import names, rdata, rdtypes, rrset
from replication.dns.rdtypes import NS, A, type_to_text
from replication.dns.rrset import RRset
from replication.errors import BadRRset
from tests.full import examples
from tests.replication.compile.zones import CONTENT, ZONE, one, zone_of


def readable(rows: list[Row]) -> dict[str, int]:
    """Return the auth flag of each row, by `name TYPE`."""
    found = {}
    for rel, type, body in rows:
        name = names.relative_text(keys.name_from_relative_key(rel, ZONE), ZONE)
        found[f"{name} {type_to_text(type) if type else 'ENT'}"] = values.decode_records(body)[0].auth
    return found


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
    """The expected rows are from `_general_rows`, which `compile_wires` uses only for zones with delegations."""
    rrsets = zone_of(*lines)
    expected = _general_rows(ZONE, _rrsets_by_owner(in_wire_form(rrsets)), None)
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


def test_a_name_that_is_the_hash_of_another_takes_nothing_out_of_the_chain() -> None:
    """An attacker who knows the public salt can choose such a name."""
    nsec3 = Nsec3()
    hashed = nsec3_hash("www." + ZONE, b"", 0)
    rows = compile_zone(ZONE, [*zone_of("www A"), one(hashed.decode() + "." + ZONE, A)], nsec3=nsec3)
    assert len({row[:2] for row in rows}) == len(rows)
    chain = {body for _, type, body in rows if type == 50 and values.decode_records(body)[0].ttl == 0}
    assert {values.decode_records(body)[0].content for body in chain} == {
        b"\0",
        b"\x03www\0",
        b"\x20" + hashed + b"\0",
    }


@pytest.mark.parametrize(
    ("lines", "flagged"),
    [
        (["sub NS"], set()),
        (["sub NS", "sub DS"], {"NS", "DS"}),
        (["sub NS", "sub TXT"], {"TXT"}),
        (["sub NS", "sub A", "sub AAAA"], set()),
        (["sub NS", "sub DS", "sub A", "sub TXT"], {"NS", "DS", "TXT"}),
    ],
)
def test_with_opt_out_the_flags_at_a_delegation_depend_on_ds(lines: list[str], flagged: set[str]) -> None:
    rows = compile_zone(ZONE, zone_of(*lines), nsec3=Nsec3(opt_out=True))
    found = {type_to_text(type) for rel, type, body in rows if rel == b"sub\0" and values.first_flags(body)[1]}
    assert found == flagged


def test_narrow_mode_needs_no_helper_rows() -> None:
    assert all(type != 50 for _, type, _ in compile_zone(ZONE, zone_of("www A"), nsec3=Nsec3(narrow=True)))


@settings(max_examples=examples(100, 300), deadline=None)
@given(content=CONTENT, order=st.randoms(use_true_random=False))
def test_the_fast_way_and_the_general_way_compile_the_same(
    content: dict[tuple[str, int], int], order: random.Random
) -> None:
    rrsets = in_wire_form([one(*key, ttl) for key, ttl in content.items()])
    expected = _general_rows(ZONE, _rrsets_by_owner(rrsets), None)
    order.shuffle(rrsets)
    assert compile_wires(ZONE, rrsets) == expected
    plain = [item for item in rrsets if item[1] != NS or item[0] == keys.APEX]
    assert compile_wires(ZONE, iter(plain)) == _general_rows(ZONE, _rrsets_by_owner(plain), None)


def test_names_that_powerdns_would_sign_otherwise_are_in_lower_case_unless_others_signed_them() -> None:
    """In a zone that PowerDNS signs, HTTPS rows with capitals would be bogus (RFC 4034 6.2, RFC 6840 5.1)."""
    https = rrset.make("www", rdtypes.HTTPS, 300, ["1 Web.Other.test."], origin="example.test.")
    mail = rrset.make("www", rdtypes.MX, 300, ["1 Mail.Other.test."], origin="example.test.")
    signature = f"HTTPS 13 3 300 20261224000000 20261101000000 1 example.test. {'q80x' * 21}qw=="
    rrsig = RRset("www.example.test.", rdtypes.RRSIG, 300, (rdata.parse_signature(signature),))
    rows = {type: body for _, type, body in compile_zone("example.test.", [mail, https])}
    assert b"\3web\5other" in rows[rdtypes.HTTPS]
    assert b"\4Mail\5Other" in rows[rdtypes.MX]
    signed = {type: body for _, type, body in compile_zone("example.test.", [mail, rrsig, https])}
    assert b"\3Web\5Other" in signed[rdtypes.HTTPS]
