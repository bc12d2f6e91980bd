"""Tests of the state that separate code computes from PostgreSQL: it equals the publisher's files."""

import random

import pytest
from django.utils import timezone

from dnspanel.publish.checks.expected_state import (
    RRsetRow,
    _digest_of_zone_rows,
    as_digest,
    digest_of,
    expected_state,
    wire_of,
    zone_rows,
)
from dnspanel.publish.reading.publisher_session import reading
from dnspanel.zones.acting import Acting
from dnspanel.zones.publishing import edit
from replication.codec import keys
from replication.codec.schema import Dbi, schema_for
from replication.compile import compile_zone
from replication.dns import rdata, rdtypes
from replication.dns.rrset import RRset, make
from replication.wire.operations import digest_bytes, row_digest
from tests.dnspanel.publish.encoding.test_encode import change, create, encode_all, rrset, store
from tests.replication.panel import zone_digest

ZONE = "example.test."

# One sample for every form of rdata.
SAMPLES = [
    ("A", "192.0.2.1"),
    ("AAAA", "2001:db8::1"),
    ("CNAME", "target.example.test."),
    ("NS", "ns1.example.test."),
    ("PTR", "host.example.test."),
    ("DNAME", "other.test."),
    ("ALIAS", "elsewhere.test."),
    ("MB", "mb.example.test."),
    ("MG", "mg.example.test."),
    ("MR", "mr.example.test."),
    ("MINFO", "a.example.test. b.example.test."),
    ("MX", "10 mail.example.test."),
    ("AFSDB", "1 afs.example.test."),
    ("KX", "5 kx.example.test."),
    ("RP", "me.example.test. txt.example.test."),
    ("TXT", '"one" "two; three"'),
    ("TXT", '"\\"quoted\\" \\195\\164"'),
    ("SPF", '"v=spf1 -all"'),
    ("SRV", "1 2 443 srv.example.test."),
    ("SOA", "ns1.example.test. host.example.test. 1 10800 3600 604800 300"),
    ("CAA", '0 issue "ca.test"'),
    ("TLSA", "3 1 1 " + "ab" * 32),
    ("SSHFP", "4 2 " + "cd" * 32),
    ("DS", "12345 13 2 " + "ef" * 32),
    ("HTTPS", '1 . alpn="h2,h3"'),
    ("SVCB", "1 svc.example.test. port=8443"),
    ("NAPTR", '1 2 "u" "sip" "" sip.test.'),
    ("URI", '10 1 "https://example.test/"'),
    ("LOC", "52 22 23.000 N 4 53 32.000 E -2.00m 0.00m 10000m 10m"),
    ("HINFO", '"PC" "Unix"'),
    ("LUA", "A \"ifportup(443, {'192.0.2.1'})\""),
    ("RKEY", "0 3 13 q80="),
    ("TYPE4711", "\\# 3 abcdef"),
]

SIGNATURE = rdata.parse_signature("A 13 3 60 20270101000000 20260101000000 12345 example.test. q80=")


def row_of(item: RRset) -> RRsetRow:
    return 7, item.name, item.type, item.ttl, item.rdata, item.disabled


def assert_same(*items: RRset) -> None:
    wanted = {keys.record_key(7, rel, type): body for rel, type, body in compile_zone(ZONE, items)}
    assert dict(zone_rows(7, ZONE, map(row_of, items))) == wanted


@pytest.mark.parametrize(("type", "text"), SAMPLES, ids=lambda value: str(value)[:20])
def test_every_form_of_rdata_has_the_same_wire_form(type: str, text: str) -> None:
    item = make("x.example.test.", rdata.type_from_text(type), 300, [text])
    assert wire_of(item.type, item.rdata[0]) == rdata.to_wire(item.type, item.rdata[0])
    assert_same(item)


def test_delegations_empty_names_wildcards_and_disabled_records_come_out_the_same() -> None:
    a = rdtypes.A
    assert_same(
        make(ZONE, rdtypes.NS, 3600, ["ns1.example.test."]),
        make("*.example.test.", a, 60, ["192.0.2.9"]),
        make("a.b.c.example.test.", a, 60, ["192.0.2.3", "192.0.2.1", "192.0.2.2"]),
        make("sub.example.test.", rdtypes.NS, 60, ["ns.sub.example.test."]),
        make("sub.example.test.", rdtypes.DS, 60, ["12345 13 2 " + "ef" * 32]),
        make("ns.sub.example.test.", a, 60, ["192.0.2.53"]),
        make("x.y.deep.sub.example.test.", a, 60, ["192.0.2.54"]),
        make("off.example.test.", a, 60, ["192.0.2.7"], ["192.0.2.7"]),
        make("half.example.test.", a, 60, ["192.0.2.7", "192.0.2.8"], ["192.0.2.8"]),
        make("asleep.example.test.", rdtypes.NS, 60, ["ns.test."], ["ns.test."]),
        make("below.asleep.example.test.", a, 60, ["192.0.2.6"]),
        make("label\\.with\\.dots.example.test.", a, 60, ["192.0.2.5"]),
    )


@pytest.mark.parametrize("seed", range(20))
def test_random_trees_of_names_come_out_the_same(seed: int) -> None:
    chance = random.Random(seed)
    names = {".".join(chance.choices("abc", k=chance.randint(1, 5))) + "." + ZONE for _ in range(25)}
    items = []
    for name in sorted(names):
        types = chance.sample([rdtypes.A, rdtypes.TXT, rdtypes.NS, rdtypes.RRSIG], k=chance.randint(1, 2))
        texts = {rdtypes.A: "192.0.2.1", rdtypes.TXT: '"x"', rdtypes.NS: "ns.test.", rdtypes.RRSIG: SIGNATURE}
        items += [RRset(name, type, 60, (texts[type],)) for type in types]
    assert_same(*items)


@pytest.mark.parametrize("schema", [4, 5, 6])
@pytest.mark.parametrize("name", [ZONE, "a.b.c.test.", "xn--bcher-kva.test.", "."])
def test_the_rows_of_the_list_of_zones_add_up_to_the_same(schema: int, name: str) -> None:
    rows = schema_for(schema).zone_rows(77, name)
    assert as_digest(_digest_of_zone_rows(schema, 77, name)) == digest_bytes(sum(row_digest(*row) for row in rows))


def test_the_digest_of_a_row_is_the_one_that_travels() -> None:
    assert digest_of(0, b"key", b"body") == row_digest(Dbi.RECORDS, b"key", b"body")


@pytest.mark.django_db(transaction=True)
def test_the_publishers_files_hold_what_is_worked_out_from_postgresql() -> None:
    zone = create(ZONE, rrset("www.example.test.", rdtypes.A, "192.0.2.1"))
    gone = create("gone.test.")
    change(zone, rrset("sub.example.test.", rdtypes.NS, "ns.elsewhere.test."))
    edit.delete_zone(zone=gone, acting=Acting(None, "system", timezone.now()))
    encode_all()
    with reading() as conn:
        found = expected_state(conn)
        only = expected_state(conn, [zone.pk, 4711])
    assert found is not None
    assert only is not None
    assert (found.sequence, list(found.zones)) == (4, [zone.pk])
    assert only.zones == {zone.pk: found.zones[zone.pk]}
    assert as_digest(found.zones[zone.pk].digest) == zone_digest(store(), zone.pk)
    assert (found.main_digest(4), found.records_digest) == store().digests()
    assert found.rows == len(list(store().rows(zone.pk).raw()))
