"""The zones (estate) that benchmarks publish, and the single edits that they make."""

import random
from collections.abc import Callable, Iterator
from itertools import islice

from replication.dns.rdtypes import CNAME, NS, SOA, A
from replication.dns.rrset import RRset, make
from tests import zonegen

BATCH_ZONES = 2_000
STORM_ZONE = "storm.test."
ALIAS_ZONE = "alias.test."
TTL = 300


def fill(*, first: int, zones: int, of: int, records: int, say: Callable[[str], None]) -> int:
    """Create the zones from `first` to `zones` of a seeded estate with `of` zones. Return their number of records."""
    from django.utils import timezone

    from dnspanel.zones.acting import Acting
    from dnspanel.zones.models import Channel
    from dnspanel.zones.publishing import edit

    made = 0
    estate = islice(zonegen.estate(of, records), first, zones)
    done = first
    while batch := list(islice(estate, BATCH_ZONES)):
        edit.create_zones(
            zones=[edit.NewZone(name=name, rrsets=rrsets) for name, rrsets in batch],
            acting=Acting(None, Channel.IMPORT, timezone.now(), "benchmark"),
        )
        made += sum(zonegen.count_records(rrsets) for _, rrsets in batch)
        done += len(batch)
        if done % 20_000 < BATCH_ZONES:
            say(f"  {done:,} zones in PostgreSQL")
    return made


def address_names(*, count: int, seed: int) -> list[tuple[int, str]]:
    """Return (zone id, owner name) of `count` different A RRsets in random zones."""
    from dnspanel.zones.models import RRset, Zone

    zone_ids = list(Zone.objects.filter(deleted_at=None).order_by("id").values_list("id", flat=True))
    chosen = random.Random(seed).sample(zone_ids, count)
    found = RRset.objects.filter(zone_id__in=chosen, type=A, name__startswith="www.").values_list("zone_id", "name")
    by_zone = dict(found)
    return [(zone_id, by_zone[zone_id]) for zone_id in chosen]


def publish_address(*, zone_id: int, name: str, address: str) -> int:
    """Publish one A RRset and return its sequence."""
    from django.utils import timezone

    from dnspanel.zones.models import Channel, Zone
    from tests.publishing import change_rrsets

    publication = change_rrsets(
        zone=Zone.objects.get(pk=zone_id),
        changes={(name, A): RRset(name, A, TTL, (address,))},
        author=None,
        channel=Channel.SYSTEM,
        now=timezone.now(),
    )
    return publication.sequence


def fill_storm_zone(*, names: int) -> int:
    """Create the zones of the storm, and return the id of the zone that changes."""
    from django.utils import timezone

    from dnspanel.zones.acting import Acting
    from dnspanel.zones.models import Channel, Zone
    from dnspanel.zones.publishing import edit

    edit.create_zones(
        zones=[edit.NewZone(name=name, rrsets=rrsets) for name, rrsets in storm_zones(names)],
        acting=Acting(None, Channel.IMPORT, timezone.now()),
    )
    return Zone.objects.get(name=STORM_ZONE, deleted_at=None).pk


def storm_zones(names: int) -> list[tuple[str, list[RRset]]]:
    """Return the zone that changes, with `n<i>` as addresses and `c<i>` as CNAMEs to them, and a second zone.

    The second zone has CNAMEs `c<i>` to the same names.
    """
    return [
        (STORM_ZONE, list(_storm_rrsets(names))),
        (ALIAS_ZONE, [*_apex(ALIAS_ZONE), *_aliases(ALIAS_ZONE, names)]),
    ]


def _storm_rrsets(names: int) -> Iterator[RRset]:
    yield from _apex(STORM_ZONE)
    yield from _aliases(STORM_ZONE, names)
    for number in range(names):
        yield make(f"n{number}.{STORM_ZONE}", A, TTL, ["198.51.100.1"])


def _apex(zone: str) -> Iterator[RRset]:
    yield make(zone, SOA, 3600, ["ns1.example.net. hostmaster.example.net. 1 10800 3600 604800 300"])
    yield make(zone, NS, 3600, ["ns1.example.net.", "ns2.example.net."])


def _aliases(zone: str, names: int) -> Iterator[RRset]:
    for number in range(names):
        yield make(f"c{number}.{zone}", CNAME, TTL, [f"n{number}.{STORM_ZONE}"])
