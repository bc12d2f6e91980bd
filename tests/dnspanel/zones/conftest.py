"""Fixtures of the tests of zones."""

from collections.abc import Callable

import pytest

from dnspanel.accounts.models import User
from dnspanel.zones import edit
from dnspanel.zones.models import Channel, Zone
from replication.dns import rdata
from replication.dns.rrset import RRset, make
from tests.people import NOW
from tests.people import alice as alice
from tests.people import bob as bob
from tests.people import charlie as charlie
from tests.people import dora as dora

ZONE = "example.test."
MakeZone = Callable[..., Zone]


def rr(line: str, *, comment: str = "", disabled: tuple[str, ...] = (), origin: str = ZONE) -> RRset:
    """An RRset from a line as in a zone file, its records separated by " | ": `www 300 A 192.0.2.1 | 192.0.2.2`."""
    name, ttl, type_, texts = line.split(maxsplit=3)
    return make(name, rdata.type_from_text(type_), int(ttl), texts.split(" | "), disabled, comment, origin)


_APEX = (
    "@ 3600 SOA ns1.example.net. hostmaster.example.net. 1 10800 3600 604800 3600",
    "@ 3600 NS ns1.example.net. | ns2.example.net.",
)


def zone_maker(author: User) -> MakeZone:
    """What creates a zone from lines, in this person's name, and returns it; its serial is 1 unless a line says so."""

    def make_zone(*lines: str, name: str = ZONE) -> Zone:
        rrsets = [rr(line, origin=name) for line in (*_APEX, *lines)]
        by_key = {(r.name, r.type): r for r in rrsets}
        edit.create_zone(name=name, author=author, channel=Channel.WEB, now=NOW, rrsets=list(by_key.values()))
        return Zone.objects.get(name=name, deleted_at=None)

    return make_zone


@pytest.fixture
def make_zone(alice: User) -> MakeZone:
    """Creates a zone from lines and returns it."""
    return zone_maker(alice)


@pytest.fixture
def zone(make_zone: MakeZone) -> Zone:
    """A small zone: www, mail with MX, an alias."""
    return make_zone(
        "www 300 A 192.0.2.1 | 192.0.2.2", "mail 300 A 192.0.2.9", "@ 3600 MX 10 mail", "shop 300 CNAME www"
    )
