"""The conversion of compiled rows back into their RRsets."""

import pytest

from replication.codec import keys, values
from replication.codec.values import StoredRecord
from replication.compile import compile_zone
from replication.decompile import rrsets_of_rows
from replication.dns import rrset
from replication.dns.rrset import RRset
from replication.errors import BadBytes
from tests.replication.panel import records, small_zone

ZONE = "example.test."


def rows_of(rrsets: list[RRset], zone_id: int = 7) -> list[tuple[bytes, bytes]]:
    return [(keys.record_key(zone_id, rel, type), body) for rel, type, body in compile_zone(ZONE, rrsets)]


def test_what_was_compiled_comes_back() -> None:
    zone = small_zone(
        ZONE,
        records(ZONE, "mail", "MX", 300, "10 mx1", "20 mx2.elsewhere.test."),
        records(ZONE, "a.b.c", "TXT", 60, '"two" "texts"'),
        records(ZONE, "*.wild", "AAAA", 60, "2001:db8::1", "2001:db8::2"),
        records(ZONE, "sub", "NS", 60, "ns.sub"),
        records(ZONE, "ns.sub", "A", 60, "192.0.2.3"),
        records(ZONE, "_sip._tcp", "SRV", 60, "1 2 5060 sip"),
    )
    found = list(rrsets_of_rows(ZONE, rows_of(zone)))
    assert sorted(found, key=lambda r: (r.name, r.type)) == sorted(zone, key=lambda r: (r.name, r.type))


def test_empty_non_terminals_are_nobodys_records() -> None:
    rows = rows_of([records(ZONE, "a.b.c", "A", 60, "192.0.2.1")])
    assert len(rows) == 3
    assert [found.name for found in rrsets_of_rows(ZONE, rows)] == ["a.b.c.example.test."]


def test_disabled_records_and_comments_do_not_come_back_because_they_never_travelled() -> None:
    sent = rrset.make("www.example.test.", 1, 60, ["192.0.2.1", "192.0.2.2"], ["192.0.2.2"], "a comment")
    (found,) = rrsets_of_rows(ZONE, rows_of([sent]))
    assert found == RRset("www.example.test.", 1, 60, ("192.0.2.1",))


def test_names_that_powerdns_compressed_are_taken_in_full() -> None:
    # As `pdnsutil` writes it: the target is "mail" and a pointer to the owner's own name, 17 bytes into the message.
    content = b"\x00\x0a" + b"\x04mail" + b"\xc0\x11"
    row = (keys.record_key(7, keys.APEX, 15), values.encode_records([StoredRecord(content, 300)]))
    (found,) = rrsets_of_rows(ZONE, [row])
    assert found.rdata == ("10 mail.example.test.",)


def test_bytes_that_are_no_row_are_refused() -> None:
    with pytest.raises(BadBytes):
        list(rrsets_of_rows(ZONE, [(b"short", b"")]))
    with pytest.raises(BadBytes):
        list(rrsets_of_rows(ZONE, [(keys.record_key(7, keys.APEX, 1), b"\x04\x00\xc0")]))
