"""What PowerDNS is asked most: counted from its rings of the last questions, when somebody wants to know.

A ring holds the last 10,000 questions of one kind. PowerDNS tells all of them at once, up to megabytes of JSON; they
are counted as they arrive, so that memory holds a few short lists and never all of them. An answer is kept for some
seconds, however many ask.
"""

import heapq
import ipaddress
import json
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import BinaryIO

from replication.agent.pdns_api import PdnsApi, refuse_other_status
from replication.errors import BadBytes, NotServed
from replication.store.applying import POSITION_ZONE
from replication.wire.protocol import Counted, Top

MOST_COUNTED = 20
GOOD_FOR_SECONDS = 4.0
# What clients are cut to: the network that is asked about, not the person.
IPV4_PREFIX, IPV6_PREFIX = 24, 48

_PATH = "/statistics?includerings=true"
_ANSWER_SECONDS = 5.0
_CHUNK = 1 << 16
# No item is longer: a name in presentation form is below 1,100 characters, a log message is cut by PowerDNS.
_LONGEST_ITEM = 1 << 16
_LIST_TYPE = "RingStatisticItem"
# What the agent itself asks all the time, for proof.
_OWN = POSITION_ZONE.removesuffix(".") + "/"
_LISTS = frozenset({"queries", "nxdomain-queries", "servfail-queries", "unauth-queries"})
# A list begins, or one of its items stands there. Keys come sorted.
_TOKEN = re.compile(
    rb'\{\s*"name":\s*("(?:[^"\\]|\\.)*"),\s*'
    rb'(?:(?:"size":\s*"?\d+"?,\s*)?"type":\s*"(\w+)",\s*"value":\s*\[|"value":\s*"(\d+)"\s*\})'
)


def statistic_items(file: BinaryIO) -> Iterator[tuple[str, str, int]]:
    """Yield (ring, what, how often) from the answer of PowerDNS's statistics as it arrives. Raises BadBytes."""
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


def count_top(items: Iterable[tuple[str, str, int]], *, at: float, rcodes: Mapping[str, int], clients: bool) -> Top:
    """Return the longest lists of these items; networks of clients only if wanted."""
    lists: dict[str, _Longest] = {}
    types: Counter[str] = Counter()
    networks: Counter[str] = Counter()
    for list_name, what, count in items:
        if list_name == "remotes" and clients:
            networks[_network(what)] += count
        if what.lower().startswith(_OWN):
            continue
        if list_name == "queries":
            types[what.rpartition("/")[2]] += count
        if list_name in _LISTS:
            lists.setdefault(list_name, _Longest()).add(count, _lower_name(what))
    longest = {list_name: found.counted() for list_name, found in lists.items()}
    return Top(
        at=at,
        names=longest.get("queries", ()),
        types=_most_common(types),
        rcodes=_most_common(Counter(rcodes)),
        nxdomain=longest.get("nxdomain-queries", ()),
        servfail=longest.get("servfail-queries", ()),
        refused=longest.get("unauth-queries", ()),
        networks=_most_common(networks),
    )


class TopLists:
    """Asks PowerDNS at most every few seconds, and one at a time."""

    def __init__(
        self,
        api: PdnsApi,
        *,
        rcodes: Callable[[], Mapping[str, int]],
        clients: bool,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._api, self._clients = api, clients
        self._rcodes, self._clock = rcodes, clock
        self._lock = threading.Lock()
        self._last: Top | None = None

    def read(self) -> Top:
        """The lists as of a few seconds ago at most. Raises NotServed or BadBytes."""
        with self._lock:
            now = self._clock()
            if self._last is None or not 0 <= now - self._last.at < GOOD_FOR_SECONDS:
                self._last = self._ask(now)
            return self._last

    def _ask(self, now: float) -> Top:
        if not self._api.has_key:
            raise NotServed(question="top lists", expected="an api_key in agent.toml", found="none")
        with self._api.request("GET", _PATH, question="top lists", seconds=_ANSWER_SECONDS) as connection:
            response = connection.getresponse()
            refuse_other_status(response, question="top lists")
            return count_top(statistic_items(response), at=now, rcodes=self._rcodes(), clients=self._clients)


class _Longest:
    """The MOST_COUNTED largest of what is added, in as much memory."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, str]] = []

    def add(self, count: int, what: str) -> None:
        if len(self._heap) < MOST_COUNTED:
            heapq.heappush(self._heap, (count, what))
        elif (count, what) > self._heap[0]:
            heapq.heapreplace(self._heap, (count, what))

    def counted(self) -> tuple[Counted, ...]:
        return tuple(Counted(what, count) for count, what in sorted(self._heap, key=lambda item: (-item[0], item[1])))


def _most_common(counts: Counter[str]) -> tuple[Counted, ...]:
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return tuple(Counted(what, count) for what, count in ordered[:MOST_COUNTED] if count)


def _lower_name(what: str) -> str:
    """`WWW.One.test/A` as `www.one.test/A`: names differ by case only where a resolver plays with it."""
    name, _, rrtype = what.rpartition("/")
    return f"{name.lower()}/{rrtype}"


def _network(client: str) -> str:
    """The network of a client, cut short; what is no address stays together."""
    try:
        address = ipaddress.ip_address(client)
    except ValueError:
        return "other"
    prefix = IPV4_PREFIX if address.version == 4 else IPV6_PREFIX
    return str(ipaddress.ip_network((address, prefix), strict=False))


def _text(name: bytes) -> str:
    """A JSON text; PowerDNS may put bytes in it that are no UTF-8."""
    try:
        return str(json.loads(name.decode("utf-8", "replace"), strict=False))
    except ValueError as exc:
        raise BadBytes(what="PowerDNS's statistics", reason=f"{name[:80]!r} is not a JSON text") from exc
