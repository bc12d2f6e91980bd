"""Fixtures for tests of zones."""

from collections.abc import Callable, Sequence
from uuid import uuid4

import pytest

from dnspanel.accounts.actors.actors import Actor, Grant, actor_of_token
from dnspanel.accounts.models import Token, User
from dnspanel.zones.acting import Acting
from dnspanel.zones.dnssec import key_material
from dnspanel.zones.models import Channel, Publication, Zone
from dnspanel.zones.publishing import edit, ready_zones
from dnspanel.zones.publishing.first_signing import BroughtSigning, record_first_signings
from dnspanel.zones.signing.presigned import end_of
from dnspanel.zones.store import store_rrsets
from replication.codec.dnssec import Nsec3
from replication.dns import rdata, rdtypes
from replication.dns.rrset import RRset, make
from tests.people import NOW
from tests.people import alice as alice
from tests.people import bob as bob
from tests.people import charlie as charlie
from tests.people import dora as dora

ZONE = "example.test."
MakeZone = Callable[..., Zone]


def rr(line: str, *, comment: str = "", disabled: tuple[str, ...] = (), origin: str = ZONE) -> RRset:
    """Return the RRset of a zone file line. " | " separates its records: `www 300 A 192.0.2.1 | 192.0.2.2`."""
    name, ttl, type_, texts = line.split(maxsplit=3)
    return make(name, rdata.type_from_text(type_), int(ttl), texts.split(" | "), disabled, comment, origin)


_APEX = (
    "@ 3600 SOA ns1.example.net. hostmaster.example.net. 1 10800 3600 604800 3600",
    "@ 3600 NS ns1.example.net. | ns2.example.net.",
)


def token_actor(owner: User, *scope: Grant) -> Actor:
    """Return an actor for a new token of this owner with this scope."""
    token = Token(owner=owner, kind="api", scope=[g.to_json() for g in scope], secret_sha256=uuid4().bytes)
    token.created_at = NOW
    token.save()
    actor = actor_of_token(token)
    assert actor is not None
    return actor


def zone_maker(author: User) -> MakeZone:
    """Return a function that creates a zone from lines as this author. Its serial is 1 unless a line has a SOA."""

    def make_zone(*lines: str, name: str = ZONE) -> Zone:
        rrsets = [rr(line, origin=name) for line in (*_APEX, *lines)]
        by_key = {(r.name, r.type): r for r in rrsets}
        edit.create_zone(zone=edit.NewZone(name, list(by_key.values())), acting=Acting(author, Channel.WEB, NOW))
        return Zone.objects.get(name=name, deleted_at=None)

    return make_zone


def presigned_zone(
    author: User, *lines: str, name: str = ZONE, nsec3: Nsec3 | None = None, end: str = "20261224000000"
) -> Zone:
    """Create a presigned zone from these lines. Each RRset gets an RRSIG that expires at `end`; the serial is 1."""
    pair = key_material.generate(13)
    tag = key_material.key_tag(257, 13, pair.public)
    dnskey = f"@ 3600 DNSKEY {key_material.dnskey_text(257, 13, pair.public)}"
    given = [rr(line, origin=name) for line in (*_APEX, dnskey, *lines)]
    rrsets = list({(rrset.name, rrset.type): rrset for rrset in given}.values())
    covered: dict[str, list[int]] = {}
    for rrset in rrsets:
        covered.setdefault(rrset.name, []).append(rrset.type)
    for owner, types in covered.items():
        texts = [
            f"{rdata.type_to_text(type)} 13 2 300 {end} 20261101000000 {tag} {name} {'q80x' * 21}qw==" for type in types
        ]
        ordered = sorted(map(rdata.parse_signature, texts), key=lambda text: rdata.to_wire(rdtypes.RRSIG, text))
        rrsets.append(RRset(owner, rdtypes.RRSIG, 300, tuple(ordered)))
    [zone_id] = ready_zones.allocate_zone_ids(1)

    def in_transaction(publication: Publication, moved: Sequence[int]) -> None:
        brought = BroughtSigning((), nsec3, presigned=True, end=end_of(end))
        record_first_signings(zones=[(zone_id, brought)], author=author, now=NOW)

    ready_zones.create_ready_zones(
        zones=[ready_zones.BulkZone(zone_id, name, 1, len(rrsets))],
        rows=lambda: [store_rrsets.rows_of_zone(zone_id, name, rrsets)],
        acting=Acting(author, Channel.IMPORT, NOW),
        in_transaction=in_transaction,
        signed=[name],
    )
    return Zone.objects.get(name=name, deleted_at=None)


@pytest.fixture
def make_zone(alice: User) -> MakeZone:
    """Return a function that creates a zone from lines and returns it."""
    return zone_maker(alice)


@pytest.fixture
def zone(make_zone: MakeZone) -> Zone:
    """Create a small zone with addresses at www and mail, an MX and an alias."""
    return make_zone(
        "www 300 A 192.0.2.1 | 192.0.2.2", "mail 300 A 192.0.2.9", "@ 3600 MX 10 mail", "shop 300 CNAME www"
    )
