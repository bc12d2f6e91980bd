"""The NSEC or NSEC3 chain made from a zone's RRsets, compared with the chain in its rows."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replication.codec import values
from replication.codec.dnssec import Nsec3
from replication.codec.keys import APEX, relative_key
from replication.codec.values import ENT
from replication.compile import HELPER, Row, compile_zone
from replication.compile.denial import is_like_hash
from replication.compile.nsec_chain import ChainMaker, Link
from replication.dns import names
from replication.dns.rdtypes import NS, NSEC, NSEC3PARAM, RRSIG
from replication.dns.rrset import RRset
from tests.replication.compile.zones import CONTENT, DENIALS, HASH_LIKE, ZONE, Key, one, zone_of

STORED = ["nsec", "nsec3", "salted", "opt-out", "salted-opt-out"]


def made(rrsets: list[RRset], nsec3: Nsec3 | None) -> list[Link]:
    maker = ChainMaker(ZONE, nsec3)
    for rel, type in sorted((relative_key(rrset.name, ZONE), rrset.type) for rrset in rrsets):
        maker.add(rel, type)
    return list(maker.links())


def in_rows(rows: list[Row], nsec3: Nsec3 | None) -> list[Link]:
    """Return the chain that PowerDNS finds in the rows. With NSEC3, it finds names by the rows of their hashes."""
    types: dict[bytes, set[int]] = {}
    owners: list[tuple[bytes, bytes]] = []
    cut: bytes | None = None
    for rel, type, body in rows:
        if type == HELPER:
            [record] = values.decode_records(body)
            if record.ttl == 0:
                owners.append((rel, relative_key(names.from_wire(record.content), names.ROOT)))
            continue
        is_authoritative = values.first_flags(body)[0]
        if type == NS and not is_authoritative and (cut is None or not rel.startswith(cut)):
            cut = rel
        if type != ENT and (is_authoritative or type == NS):
            types.setdefault(rel, set()).add(type)
        is_occluded = cut is not None and rel != cut and rel.startswith(cut)
        if nsec3 is None and type not in (ENT, RRSIG) and not is_occluded and (rel, rel) not in owners:
            owners.append((rel, rel))
    found = []
    for (owner, name), (after, _) in zip(owners, owners[1:] + owners[:1], strict=True):
        listed = types.get(name, set())
        if nsec3 is None:
            listed = listed | {RRSIG, NSEC}
        else:
            listed = listed | ({NSEC3PARAM} if name == APEX else set())
            listed = listed | ({RRSIG} if listed - {NS} else set())
        found.append(Link(owner, name, after, frozenset(listed)))
    return found


@pytest.mark.parametrize("mode", STORED)
@given(content=CONTENT)
def test_it_is_the_chain_of_the_rows(mode: str, content: dict[Key, int]) -> None:
    rrsets = list({(each.name, each.type): each for each in [*zone_of(), *(one(*key) for key in content)]}.values())
    nsec3 = DENIALS[mode]
    assert made(rrsets, nsec3) == in_rows(compile_zone(ZONE, rrsets, nsec3), nsec3)


@given(st.sampled_from(STORED))
def test_the_corners(mode: str) -> None:
    nsec3 = DENIALS[mode]
    lines = ("a.b.c A", "c RRSIG", "sub NS", "sub A", "x.sub A", "y NS", "y DS", f"{HASH_LIKE} A", "*.w TXT")
    rrsets = zone_of(*lines)
    found = made(rrsets, nsec3)
    assert found == in_rows(compile_zone(ZONE, rrsets, nsec3), nsec3)
    assert all(is_like_hash(link.owner) for link in found) == (nsec3 is not None)
