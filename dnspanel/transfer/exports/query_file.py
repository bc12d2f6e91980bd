"""Write query files for dnsperf and queryperf, with lines `name TYPE` from zones.

Only data that nodes serve is queried. Disabled records are left out. An ALIAS record becomes A and AAAA, and a LUA
record becomes the type that it computes. A wildcard label becomes a made-up label. Random choices come from the seed,
so the same zones and options always result in the same file.
"""

import heapq
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from random import Random
from typing import Any

from dnspanel.texts import gettext
from dnspanel.transfer.exports.exported_rows import ExportedZone, Row
from replication.dns import names, rdata, rdtypes

MOST_SAMPLED = 5_000_000
MOST_RANDOM_PERCENT = 95
# Labels that hardly exist in a zone, so queries for them get NXDOMAIN or a wildcard's answer.
_MADE_UP = "x-{:08x}"


@dataclass(frozen=True, slots=True)
class QueryOptions:
    """The options of a query file.

    `sample` is the number of names and types to draw from the zones, or 0 for all of them in order. With
    `each_zone_alike`, every zone has the same chance of being sampled, instead of every name and type. `random_percent`
    is the percentage of lines with made-up names in the same zones.
    """

    sample: int = 0
    each_zone_alike: bool = False
    random_percent: int = 0
    seed: int = 1

    def __post_init__(self) -> None:
        if not 0 <= self.sample <= MOST_SAMPLED:
            raise ValueError(
                gettext("a sample can have at most {most_sampled:,} names").format(most_sampled=MOST_SAMPLED)
            )
        if not 0 <= self.random_percent <= MOST_RANDOM_PERCENT:
            raise ValueError(
                gettext("the number of random names must not exceed {most}").format(most=f"{MOST_RANDOM_PERCENT} %")
            )

    def to_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.__slots__}

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> "QueryOptions":
        return cls(**{name: value for name, value in stored.items() if name in cls.__slots__})


def query_lines(zones: Iterable[ExportedZone], options: QueryOptions) -> Iterator[str]:
    """Yield the lines of the query file."""
    chance = Random(options.seed)
    served = ((zone.name, zone.rrset_count, line) for zone in zones for line in _zone_queries(zone, chance))
    chosen = _sample_lines(served, options, chance) if options.sample else ((zone, line) for zone, _, line in served)
    # With r % random lines, each served line is followed by r / (100 - r) random lines on average.
    odds = options.random_percent / (100 - options.random_percent)
    owed = 0.0
    for zone, line in chosen:
        yield line
        owed += odds
        while owed >= 1 or (owed > 0 and chance.random() < owed):
            owed -= 1
            yield _query(_below(_MADE_UP.format(chance.getrandbits(32)), zone), rdtypes.A)


def _sample_lines(
    served: Iterable[tuple[str, int, str]], options: QueryOptions, chance: Random
) -> Sequence[tuple[str, str]]:
    """Return a weighted random sample of at most `options.sample` pairs (zone, line), in random order.

    Each line is assigned the key u^(1/weight) with a random u. The lines with the largest keys are the sample
    (Efraimidis and Spirakis).
    """
    heap: list[tuple[float, str, str]] = []
    for zone, rrset_count, line in served:
        # The logarithm of u^(1/weight), where the weight is 1 or 1/rrset_count.
        key = math.log(1.0 - chance.random()) * (rrset_count if options.each_zone_alike else 1)
        if len(heap) < options.sample:
            heapq.heappush(heap, (key, zone, line))
        elif key > heap[0][0]:
            heapq.heapreplace(heap, (key, zone, line))
    chance.shuffle(heap)
    return [(zone, line) for _, zone, line in heap]


def _zone_queries(zone: ExportedZone, chance: Random) -> Iterator[str]:
    """Yield a query for each name and type with a served record. Random labels replace the `*` of wildcards."""
    for row in zone.rows:
        name, _, _, texts, disabled, *_ = row
        if len(disabled) == len(texts):
            continue
        if name.startswith("*."):
            name = f"{_MADE_UP.format(chance.getrandbits(32))}{name[1:]}"
        for type_ in query_types(row):
            yield _query(name, type_)


def query_types(row: Row) -> tuple[int, ...]:
    """Return the query types that the RRset answers."""
    type_, texts = row[1], row[3]
    if type_ == rdtypes.ALIAS:
        return rdtypes.A, rdtypes.AAAA
    if type_ == rdtypes.LUA:
        return tuple({rdata.type_from_text(text.split(" ", 1)[0]): None for text in texts})
    return (type_,)


def _below(label: str, zone: str) -> str:
    return f"{label}." if zone == names.ROOT else f"{label}.{zone}"


def _query(name: str, type: int) -> str:
    return f"{name} {_mnemonic(type)}\n"


@cache
def _mnemonic(type: int) -> str:
    return rdata.type_to_text(type)
