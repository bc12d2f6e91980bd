"""Count PowerDNS's most frequent queries on request, from its ring buffers.

A ring contains the last 10,000 queries of one kind. PowerDNS sends all rings at once, up to megabytes of JSON. The
agent counts the items as they arrive, so only a few short lists are in memory. The lists of the whole node are reused
for some seconds.
"""

import heapq
import ipaddress
import json
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, BinaryIO

from replication.agent.powerdns.pdns_api import PdnsApi, refuse_other_status
from replication.dns import names
from replication.errors import BadBytes, BadName, NotServed
from replication.store.applying import POSITION_ZONE
from replication.wire.protocol import Counted, Top

MOST_COUNTED = 20
# More zones are sent, because a person may want to see any of the many zones.
MOST_ZONES = 200
GOOD_FOR_SECONDS = 4.0
# Client addresses are shortened to these networks, so that no person is identified.
IPV4_PREFIX, IPV6_PREFIX = 24, 48

_PATH = "/statistics?includerings=true"
_ANSWER_SECONDS = 5.0
_CHUNK = 1 << 16
# No item is longer: names in presentation form have less than 1,100 characters, and PowerDNS cuts log messages.
_LONGEST_ITEM = 1 << 16
_LIST_TYPE = "RingStatisticItem"
# The names that the agent itself queries constantly, for proof.
_OWN = POSITION_ZONE.removesuffix(".") + "/"
_LISTS = frozenset({"queries", "nxdomain-queries", "servfail-queries", "unauth-queries"})
# The beginning of a list, or one of its items. Keys are sorted.
_TOKEN = re.compile(
    rb'\{\s*"name":\s*("(?:[^"\\]|\\.)*"),\s*'
    rb'(?:(?:"size":\s*"?\d+"?,\s*)?"type":\s*"(\w+)",\s*"value":\s*\[|"value":\s*"(\d+)"\s*\})'
)


def statistic_items(file: BinaryIO) -> Iterator[tuple[str, str, int]]:
    """Yield (ring, item, count) from PowerDNS's statistics as they arrive. Raise BadBytes if an item is invalid."""
    rest, list_name = b"", ""
    while chunk := file.read(_CHUNK):
        rest += chunk
        end = 0
        for token in _TOKEN.finditer(rest):
            end = token.end()
            name, kind, count = token.groups()
            if count is None:
                list_name = _text(name) if kind.decode() == _LIST_TYPE else ""
            elif list_name:
                yield list_name, _text(name), int(count)
        rest = rest[end:]
        if len(rest) > _LONGEST_ITEM + _CHUNK:
            raise BadBytes(what="PowerDNS's statistics", reason=f"an item longer than {_LONGEST_ITEM} bytes")


def count_top(
    items: Iterable[tuple[str, str, int]],
    *,
    at: float,
    rcodes: Mapping[str, int],
    clients: bool,
    zone_of: Callable[[str], str],
) -> Top:
    """Return top lists of these items without the agent's own queries.

    Include networks only if `clients` is true. Networks also count the agent's own queries.
    """
    full, zones = _Lists(), Counter[str]()
    networks: Counter[str] = Counter()
    for list_name, what, count in items:
        if list_name == "remotes" and clients:
            networks[_network(what)] += count
        if what.lower().startswith(_OWN):
            continue
        full.add(list_name, what, count)
        if list_name == "queries":
            zones[zone_of(what.rpartition("/")[0])] += count
    del zones[""]
    return full.top(
        at,
        questions=full.questions,
        zones=_most_common(zones, MOST_ZONES),
        rcodes=_most_common(Counter(rcodes)),
        networks=_most_common(networks),
    )


def count_zones(
    items: Iterable[tuple[str, str, int]], zones: Collection[str], *, at: float, zone_of: Callable[[str], str]
) -> dict[str, Top]:
    """Return the top lists of each given zone. `questions` in each result counts the queries for all zones."""
    found = {zone: _Lists() for zone in zones}
    questions = 0
    for list_name, what, count in items:
        if list_name not in _LISTS or what.lower().startswith(_OWN):
            continue
        questions += count if list_name == "queries" else 0
        lists = found.get(zone_of(what.rpartition("/")[0]))
        if lists is not None:
            lists.add(list_name, what, count)
    return {
        zone: lists.top(at, questions=questions, zones=(Counted(zone, lists.questions),))
        for zone, lists in found.items()
    }


def zone_finder(has_zone: Callable[[str], bool]) -> Callable[[str], str]:
    """Return a function that maps a name from PowerDNS to the closest enclosing local zone, or "" if none matches.

    The function caches the parents of names, not the names themselves, because clients can query any number of names.
    """
    known: dict[str, str] = {}

    def above(name: str) -> str:
        parent = names.parent(name)
        if parent is None:
            return ""
        if parent not in known:
            known[parent] = parent if has_zone(parent) else above(parent)
        return known[parent]

    def zone_of(text: str) -> str:
        try:
            name = names.parse(text)
        except BadName:
            return ""
        if name in known:
            return known[name]
        return name if has_zone(name) else above(name)

    return zone_of


class TopLists:
    """A reader of PowerDNS's top lists. Requests run one at a time. `read` reuses its result for a few seconds."""

    def __init__(
        self,
        api: PdnsApi,
        *,
        rcodes: Callable[[], Mapping[str, int]],
        clients: bool,
        has_zone: Callable[[str], bool],
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._api, self._clients, self._has_zone = api, clients, has_zone
        self._rcodes, self._clock = rcodes, clock
        self._lock = threading.Lock()
        self._last: Top | None = None

    def read(self) -> Top:
        """Return the top lists, at most GOOD_FOR_SECONDS old. Raise NotServed or BadBytes if they can't be read."""
        with self._lock:
            now = self._clock()
            if self._last is None or not 0 <= now - self._last.at < GOOD_FOR_SECONDS:
                self._last = self._ask(now)
            return self._last

    def of_zones(self, zones: Collection[str]) -> dict[str, Top]:
        """Return current top lists for each of these zones (canonical names). Raise the same errors as `read`."""
        with self._lock, self._items() as items:
            return count_zones(items, zones, at=self._clock(), zone_of=zone_finder(self._has_zone))

    def _ask(self, now: float) -> Top:
        with self._items() as items:
            zone_of = zone_finder(self._has_zone)
            return count_top(items, at=now, rcodes=self._rcodes(), clients=self._clients, zone_of=zone_of)

    @contextmanager
    def _items(self) -> Iterator[Iterator[tuple[str, str, int]]]:
        """Yield the items in PowerDNS's rings. Raise NotServed if PowerDNS doesn't respond or no API key is set."""
        if not self._api.has_key:
            raise NotServed(question="top lists", expected="an api_key in agent.toml", found="none")
        with self._api.request("GET", _PATH, question="top lists", seconds=_ANSWER_SECONDS) as connection:
            response = connection.getresponse()
            refuse_other_status(response, question="top lists")
            yield statistic_items(response)


class _Lists:
    def __init__(self) -> None:
        self.questions = 0
        self._lists: dict[str, _Longest] = {}
        self._types: Counter[str] = Counter()

    def add(self, list_name: str, what: str, count: int) -> None:
        if list_name == "queries":
            self.questions += count
            self._types[what.rpartition("/")[2]] += count
        if list_name in _LISTS:
            self._lists.setdefault(list_name, _Longest()).add(count, _lower_name(what))

    def top(self, at: float, **others: Any) -> Top:
        longest = {list_name: found.most_frequent() for list_name, found in self._lists.items()}
        return Top(
            at=at,
            names=longest.get("queries", ()),
            types=_most_common(self._types),
            nxdomain=longest.get("nxdomain-queries", ()),
            servfail=longest.get("servfail-queries", ()),
            refused=longest.get("unauth-queries", ()),
            **others,
        )


class _Longest:
    """The MOST_COUNTED items with the highest counts. Memory doesn't grow with the number of added items."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, str]] = []

    def add(self, count: int, what: str) -> None:
        if len(self._heap) < MOST_COUNTED:
            heapq.heappush(self._heap, (count, what))
        elif (count, what) > self._heap[0]:
            heapq.heapreplace(self._heap, (count, what))

    def most_frequent(self) -> tuple[Counted, ...]:
        return tuple(Counted(what, count) for count, what in sorted(self._heap, key=lambda item: (-item[0], item[1])))


def _most_common(counts: Counter[str], most: int = MOST_COUNTED) -> tuple[Counted, ...]:
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return tuple(Counted(what, count) for what, count in ordered[:most] if count)


def _lower_name(what: str) -> str:
    """Return `WWW.One.test/A` as `www.one.test/A`, because resolvers randomize the letter case of names."""
    name, _, rrtype = what.rpartition("/")
    return f"{name.lower()}/{rrtype}"


def _network(client: str) -> str:
    """Return the client's network with IPV4_PREFIX or IPV6_PREFIX bits, or "other" if the address is invalid."""
    try:
        address = ipaddress.ip_address(client)
    except ValueError:
        return "other"
    prefix = IPV4_PREFIX if address.version == 4 else IPV6_PREFIX
    return str(ipaddress.ip_network((address, prefix), strict=False))


def _text(name: bytes) -> str:
    """Parse a JSON string from PowerDNS, which can contain invalid UTF-8. Raise BadBytes if the string is invalid."""
    try:
        return str(json.loads(name.decode("utf-8", "replace"), strict=False))
    except ValueError as exc:
        raise BadBytes(what="PowerDNS's statistics", reason=f"{name[:80]!r} is not a JSON text") from exc
