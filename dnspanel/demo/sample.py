"""Read the sample zones of the demo. Their zone files look like those of real zones."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import dns.zone

from replication.dns import names, rrset

ZONE_FILES = Path(__file__).parent / "zones"


@dataclass(frozen=True, slots=True)
class SampleZone:
    """A parsed zone file in canonical form."""

    name: str
    rrsets: tuple[rrset.RRset, ...]


def zone_files() -> list[Path]:
    return sorted(ZONE_FILES.glob("*.zone"))


def sample_zones() -> list[SampleZone]:
    return [read_zone(path) for path in zone_files()]


def read_zone(path: Path) -> SampleZone:
    """Read a zone file. Raise BadName, BadRdata, BadRRset or an error of dnspython if it is invalid."""
    text = path.read_text()
    origin = names.parse(origin_of(text))
    zone = dns.zone.from_text(text, origin=origin, relativize=False, allow_include=False)
    return SampleZone(name=origin, rrsets=tuple(_rrsets(zone)))


def origin_of(text: str) -> str:
    """Return the zone name from the first `$ORIGIN` line. A file name can differ, because it can't contain a slash."""
    return next(line.split()[1] for line in text.splitlines() if line.startswith("$ORIGIN"))


def _rrsets(zone: dns.zone.Zone) -> Iterator[rrset.RRset]:
    for name, rdataset in zone.iterate_rdatasets():
        texts = [rdata.to_text() for rdata in rdataset]
        yield rrset.make(name.to_text(), int(rdataset.rdtype), rdataset.ttl, texts)
