"""Tests of the rows that separate code computes for signed zones: they equal the compiler's in every mode."""

from itertools import groupby

import dns.name
import pytest

from dnspanel.publish.checks.expected_signing import Chain, ExpectedSigning, attached_rows
from dnspanel.publish.checks.expected_state import zone_rows
from replication.codec import keys
from replication.codec.dnssec import KeyObject, MetadataObject, Nsec3
from replication.codec.schema import schema_for
from replication.codec.sealed import digested_body, fingerprint
from replication.compile import compile_zone
from replication.dns import rdata, rdtypes
from replication.dns.rrset import RRset, make

ZONE = "example.test."
A, NS, DS, TXT = rdtypes.A, rdtypes.NS, rdtypes.DS, rdtypes.TXT
RRSETS = [
    make(ZONE, NS, 60, ["ns.example.test."]),
    make("ns.example.test.", A, 60, ["192.0.2.1"]),
    make("a.b.c.example.test.", TXT, 60, ['"x"']),
    make("*.w.example.test.", A, 60, ["192.0.2.1"]),
    make("sub.example.test.", NS, 60, ["ns.sub.example.test."]),
    make("ns.sub.example.test.", A, 60, ["192.0.2.1"]),
    make("x.ents.example.test.", NS, 60, ["ns.other.test."]),
    make("safe.example.test.", NS, 60, ["ns.other.test."]),
    make("safe.example.test.", DS, 60, [f"1 13 2 {'ab' * 32}"]),
    make("glue.example.test.", NS, 60, ["glue.example.test."]),
    make("glue.example.test.", A, 60, ["192.0.2.1"]),
    make("deep.sub.example.test.", NS, 60, ["ns.other.test."]),
    make(f"{'0' * 32}.example.test.", A, 60, ["192.0.2.1"]),
]
SIGNATURE = rdata.parse_signature("A 13 3 60 20270101000000 20260101000000 12345 example.test. q80=")


@pytest.mark.parametrize("narrow", [False, True])
@pytest.mark.parametrize("opt_out", [False, True])
@pytest.mark.parametrize("salt", [b"", b"\xab\xcd"])
def test_rows_are_the_compilers_in_every_mode(salt: bytes, opt_out: bool, narrow: bool) -> None:
    nsec3, chain = Nsec3(3, salt, opt_out, narrow), Chain(3, salt.hex(), opt_out, narrow)
    wanted = {keys.record_key(7, rel, type): body for rel, type, body in compile_zone(ZONE, RRSETS, nsec3)}
    assert dict(zone_rows(7, ZONE, map(_row, RRSETS), chain)) == wanted


@pytest.mark.parametrize("opt_out", [False, True])
@pytest.mark.parametrize("narrow", [None, False, True])
def test_rows_of_zones_that_came_signed_are_the_compilers(narrow: bool | None, opt_out: bool) -> None:
    nsec3 = None if narrow is None else Nsec3(0, b"", opt_out, narrow)
    chain = None if narrow is None else Chain(0, "", opt_out, narrow)
    owners = {item.name for item in RRSETS} | {"b.c.example.test.", "nothing.x.example.test."}
    hashes = {f"{Chain(0, '', False, False).hash(dns.name.from_text(name)).decode()}.{ZONE}" for name in owners}
    rrsets = [*RRSETS, *(RRset(name, rdtypes.RRSIG, 60, (SIGNATURE,)) for name in sorted(owners | hashes))]
    wanted = {keys.record_key(7, rel, type): body for rel, type, body in compile_zone(ZONE, rrsets, nsec3)}
    assert dict(zone_rows(7, ZONE, map(_row, rrsets), chain)) == wanted


def _row(item: RRset) -> tuple[int, str, int, int, tuple[str, ...], tuple[str, ...]]:
    return 7, item.name, item.type, item.ttl, item.rdata, item.disabled


def test_a_hash_is_the_label_of_rfc_5155() -> None:
    hashed = Chain(12, "aabbccdd", False, False).hash(dns.name.from_text("a.example."))
    assert hashed == b"35mthgpgcu1qg68fab165klnsnk3dpvl"


@pytest.mark.parametrize("schema", [4, 5, 6])
def test_metadata_and_keys_are_laid_out_as_the_codec_does(schema: int) -> None:
    kind, content = schema_for(schema), "Private-key-format: v1.2\nAlgorithm: 13\nPrivateKey: AAAA\n"
    key = KeyObject(ZONE, content, 257, True, False)
    wanted = [
        *kind.metadata_rows(9, MetadataObject(ZONE, "NSEC3PARAM", "1 0 0 -")),
        *((dbi, at, digested_body(body) if dbi == 5 else body) for dbi, at, body in kind.key_rows(5, key)),
    ]
    signing = ExpectedSigning(None, ((9, "NSEC3PARAM", "1 0 0 -"),), ((5, fingerprint(content), 257, True, False),))
    found = list(attached_rows(schema, ZONE, signing))
    assert found == [(int(dbi), at, body) for dbi, at, body in wanted]
    assert [table for table, _ in groupby(found, key=lambda row: row[0])] == [3, 4, 5, 6]
