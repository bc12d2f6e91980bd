"""Made-up estates of any size: the same seed gives the same zones.

Most zones are small, a few are large, as at a hosting provider. The values
are written in canonical form right away, because parsing millions of records
would take longer than what is measured with them; a test holds a sample
against `rrset.make`.
"""

import random
from collections.abc import Iterator, Sequence

from replication import rdtypes
from replication.rrset import RRset

# SOA, two NS, two A at the apex and www, MX, two TXT: what even the smallest zone has.
SMALLEST = 8
PROVIDER_ZONES = 263_238
PROVIDER_RECORDS = 2_798_571
_WORDS = (
    "api",
    "app",
    "blog",
    "cdn",
    "dev",
    "ftp",
    "git",
    "imap",
    "img",
    "m",
    "ns",
    "shop",
    "smtp",
    "vpn",
    "web",
    "wiki",
)
_ENDINGS = ("test", "com.test", "net.test", "org.test", "co.test")


def estate(zones: int, records: int | None = None, seed: int = 1) -> Iterator[tuple[str, list[RRset]]]:
    """`zones` zones with `records` records (rdata, SOA included) altogether; about 10.6 per zone by default."""
    if records is None:
        records = round(zones * PROVIDER_RECORDS / PROVIDER_ZONES)
    for number, size in enumerate(zone_sizes(zones, records, seed)):
        name = f"zone-{number:07d}.{_ENDINGS[number % len(_ENDINGS)]}."
        yield name, zone_rrsets(name, size, seed=seed * 1_000_003 + number)


def provider_estate(seed: int = 1) -> Iterator[tuple[str, list[RRset]]]:
    """The estate of a published test: 263,238 zones with 2,798,571 records."""
    return estate(PROVIDER_ZONES, PROVIDER_RECORDS, seed)


def zone_sizes(zones: int, records: int, seed: int = 1) -> list[int]:
    """Records of each zone: at least SMALLEST, the rest shared out so that few zones have many."""
    chance = random.Random(seed)
    spare = records - zones * SMALLEST
    if spare < 0:
        raise ValueError(f"{zones} zones need at least {zones * SMALLEST} records")
    weights = [min(chance.paretovariate(1.2), 2000.0) for _ in range(zones)]
    share = spare / sum(weights)
    sizes = [SMALLEST + int(weight * share) for weight in weights]
    for at in range(records - sum(sizes)):  # what rounding left over
        sizes[at % zones] += 1
    return sizes


def zone_rrsets(name: str, records: int, seed: int = 1) -> list[RRset]:
    """The RRsets of one zone with exactly this many records (at least SMALLEST), in no particular order."""
    chance = random.Random(seed)
    address = _address(chance)
    soa = f"ns1.provider.test. hostmaster.provider.test. {chance.randrange(1, 2**31)} 10800 3600 604800 3600"
    rrsets = [
        RRset(name, rdtypes.SOA, 3600, (soa,)),
        RRset(name, rdtypes.NS, 86400, ("ns1.provider.test.", "ns2.provider.test.")),
        RRset(name, rdtypes.A, 3600, (address,)),
        RRset("www." + name, rdtypes.A, 3600, (address,)),
        RRset(name, rdtypes.MX, 3600, ("10 mx.provider.test.",)),
        RRset(name, rdtypes.TXT, 3600, ('"v=spf1 include:spf.provider.test -all"',)),
        RRset("_dmarc." + name, rdtypes.TXT, 3600, ('"v=DMARC1; p=none; rua=mailto:dmarc@provider.test"',)),
    ]
    rrsets.extend(_host(name, number, chance) for number in range(records - SMALLEST))
    return rrsets


def _host(zone: str, number: int, chance: random.Random) -> RRset:
    """One more record, at a name of its own."""
    word = _WORDS[number % len(_WORDS)]
    owner = f"{word}.{zone}" if number < len(_WORDS) else f"{word}{number // len(_WORDS)}.{zone}"
    kind = chance.randrange(10)
    ttl = (300, 3600)[kind & 1]
    if kind < 6:
        return RRset(owner, rdtypes.A, ttl, (_address(chance),))
    if kind < 8:
        return RRset(owner, rdtypes.CNAME, ttl, ("www." + zone,))
    if kind < 9:
        return RRset(owner, rdtypes.AAAA, ttl, (f"2001:db8::{chance.randrange(1, 65536):x}",))
    return RRset(owner, rdtypes.TXT, ttl, (f'"site-verification={chance.randrange(2**64):016x}"',))


def _address(chance: random.Random) -> str:
    """An address of 192.0.2.0/24."""
    return f"192.0.2.{chance.randrange(1, 255)}"


def count_records(rrsets: Sequence[RRset]) -> int:
    return sum(len(rrset.rdata) for rrset in rrsets)
