"""Generated collections of zones (estates) of any size. The same seed gives the same zones.

Most zones are small and a few are large, as at a hosting provider. The values are written in canonical form, because
parsing millions of records would take longer than the measurements. A test compares a sample with `rrset.make`.
"""

import io
import random
import tarfile
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, repeat
from pathlib import Path

from replication.dns import rdata, rdtypes
from replication.dns.rrset import RRset

# Every zone has these: SOA, two NS, two A at the apex and www, MX, two TXT.
SMALLEST = 8
PROVIDER_ZONES = 263_238
PROVIDER_RECORDS = 2_798_571
# Estates for imports have some zones of this size, or of a 27th of the estate if it is small.
LARGE_ZONE = 100_000
LARGE_ZONES = 3
_LABELS = (
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

# The records of hosts in zone files, and their frequency. The addresses are reserved for benchmarks.
_HOSTS = (
    "{name}\tIN\tA\t198.18.{a}.{b}",
    "{name}\t300\tIN\tA\t198.19.{a}.{b}",
    "{name}\tIN\tCNAME\twww",
    "{name}\tIN\tAAAA\t2001:db8::{c:x}",
    '{name}\tIN\tTXT\t"site-verification={x:08x}"',
    "_sip._tcp.{name}\tIN\tSRV\t10 60 5060 www",
    "{name}\tIN\tMX\t20 mx{b}.provider.test.",
)
_HOST_WEIGHTS = list(accumulate((40, 10, 20, 12, 8, 6, 4)))


def provider_records(zones: int) -> int:
    """Return the number of records in `zones` zones of the provider's average size, about 10.6 records."""
    return round(zones * PROVIDER_RECORDS / PROVIDER_ZONES)


def estate(zones: int, records: int | None = None, seed: int = 1) -> Iterator[tuple[str, list[RRset]]]:
    """Yield `zones` zones with `records` records in total (rdata, including SOA), by default about 10.6 per zone."""
    if records is None:
        records = provider_records(zones)
    for number, size in enumerate(zone_sizes(zones, records, seed)):
        name = f"zone-{number:07d}.{_ENDINGS[number % len(_ENDINGS)]}."
        yield name, zone_rrsets(name, size, seed=seed * 1_000_003 + number)


def provider_estate(seed: int = 1) -> Iterator[tuple[str, list[RRset]]]:
    """Yield the estate of a published test: 263,238 zones with 2,798,571 records."""
    return estate(PROVIDER_ZONES, PROVIDER_RECORDS, seed)


def zone_sizes(zones: int, records: int, seed: int = 1) -> list[int]:
    """Return the number of records of each zone. Each has at least SMALLEST, and a few zones have many."""
    chance = random.Random(seed)
    spare = records - zones * SMALLEST
    if spare < 0:
        raise ValueError(f"{zones} zones need at least {zones * SMALLEST} records")
    weights = [min(chance.paretovariate(1.2), 2000.0) for _ in range(zones)]
    share = spare / sum(weights)
    sizes = [SMALLEST + int(weight * share) for weight in weights]
    for at in range(records - sum(sizes)):  # the remainder from rounding
        sizes[at % zones] += 1
    return sizes


def zone_rrsets(name: str, records: int, seed: int = 1) -> list[RRset]:
    """Return the RRsets of one zone with exactly this many records (at least SMALLEST), in no particular order."""
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
    """Return another record, with its own name."""
    label = _LABELS[number % len(_LABELS)]
    owner = f"{label}.{zone}" if number < len(_LABELS) else f"{label}{number // len(_LABELS)}.{zone}"
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
    """Return an address of 192.0.2.0/24."""
    return f"192.0.2.{chance.randrange(1, 255)}"


def import_sizes(zones: int, records: int, seed: int = 1) -> list[int]:
    """Return the number of records of each zone in an estate to import: three zones are large, most have about ten.

    The large ones have 100,000 records or, in small estates, a 27th of all records.
    """
    large = min(LARGE_ZONE, records // 27)
    if zones <= LARGE_ZONES or large <= SMALLEST:
        return zone_sizes(zones, records, seed)
    sizes = zone_sizes(zones - LARGE_ZONES, records - LARGE_ZONES * large, seed)
    for number in range(LARGE_ZONES):
        sizes.insert((number * 2 + 1) * zones // (2 * LARGE_ZONES), large)
    return sizes


def zone_files(zones: int, records: int, seed: int = 1, prefix: str = "zone") -> Iterator[tuple[str, bytes]]:
    """Yield (zone name, zone file) for each zone of an estate to import. The files look handwritten."""
    for number, size in enumerate(import_sizes(zones, records, seed)):
        name = f"{prefix}-{number:07d}.{_ENDINGS[number % len(_ENDINGS)]}."
        yield name, zone_file(name, size, seed=seed * 1_000_003 + number)


def zone_file(name: str, records: int, seed: int = 1) -> bytes:
    """Return a zone file with exactly this many records (SMALLEST or more): SOA, NS, A, AAAA, MX, TXT, then others."""
    chance = random.Random(seed)
    address, serial = _address(chance), chance.randrange(1, 2**31)
    lines = [
        f"$ORIGIN {name}",
        "$TTL 3600",
        f"@\tIN\tSOA\tns1.provider.test. hostmaster.provider.test. {serial} 10800 3600 604800 3600",
        "\tIN\tNS\tns1.provider.test.",
        "\tIN\tNS\tns2.provider.test.",
        f"\tIN\tA\t{address}",
        "\tIN\tMX\t10 mx.provider.test.",
        '\tIN\tTXT\t"v=spf1 include:spf.provider.test -all"',
        f"www\tIN\tA\t{address}",
        f"www\tIN\tAAAA\t2001:db8::{address.rpartition('.')[2]}",
    ]
    kinds = chance.choices(range(len(_HOSTS)), cum_weights=_HOST_WEIGHTS, k=records - SMALLEST)
    values = [chance.randrange(2**32) for _ in repeat(None, records - SMALLEST)]
    for number, (kind, value) in enumerate(zip(kinds, values, strict=True)):
        label, turn = _LABELS[number % len(_LABELS)], number // len(_LABELS) or ""
        a, b, c = value >> 8 & 255, value & 255, value % 65535 + 1
        lines.append(_HOSTS[kind].format(name=f"{label}{turn}", x=value, a=a, b=b, c=c))
    return "\n".join([*lines, ""]).encode()


def write_archive(path: Path, zones: int, records: int, seed: int = 1, prefix: str = "zone") -> str:
    """Write a tar.gz with one zone file for each zone of an estate. Return the name of the last zone."""
    name = ""
    with tarfile.open(path, "w:gz", compresslevel=4) as archive:
        for name, content in zone_files(zones, records, seed, prefix):
            member = tarfile.TarInfo(f"zones/{name}zone")
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return name


def write_named_conf(directory: Path, zones: int, records: int, seed: int = 1, prefix: str = "zone") -> Path:
    """Write the zone files of an estate to import, and a named.conf that lists them. Return the path of named.conf."""
    return write_files(directory, zone_files(zones, records, seed, prefix))


def write_estate(directory: Path, zones: int, records: int) -> Path:
    """Write the zones of `estate` as zone files, and a named.conf that lists them. Return the path of named.conf."""
    return write_files(directory, ((name, zone_text(rrsets).encode()) for name, rrsets in estate(zones, records)))


def zone_path(directory: Path, name: str) -> Path:
    """Return the path of a zone's file in a directory."""
    return directory / f"{name}zone"


def write_files(directory: Path, files: Iterable[tuple[str, bytes]]) -> Path:
    """Write each zone's file in the directory, and a named.conf that lists them. Return the path of named.conf."""
    conf = [f'options {{ directory "{directory}"; }};\n']
    for name, content in files:
        file = zone_path(directory, name)
        file.write_bytes(content)
        conf.append(f'zone "{name[:-1]}" {{ type master; file "{file.name}"; }};\n')
    path = directory / "named.conf"
    path.write_text("".join(conf))
    return path


def zone_text(rrsets: Iterable[RRset]) -> str:
    """Return the RRsets as a zone file with one record per line."""
    return "".join(
        f"{rrset.name} {rrset.ttl} IN {rdata.type_to_text(rrset.type)} {text}\n"
        for rrset in rrsets
        for text in rrset.rdata
    )


def count_records(rrsets: Sequence[RRset]) -> int:
    return sum(len(rrset.rdata) for rrset in rrsets)
