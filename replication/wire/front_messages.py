"""Encode and decode the panel's settings for a front, and the front's report about the nodes behind it. Pure.

PUT /v1/front    FrontSettings as a JSON object; `backends` is an array of objects
Status.front     FrontReport as a JSON object
"""

import hashlib
import ipaddress
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Self, TypeGuard

from replication.errors import BadBytes
from replication.message_texts import format_text, in_english, parse_text
from replication.wire.protocol import join_port

MOST_BACKENDS = 64
MOST_WEIGHT = 1000
_LONGEST_REASON = 500
_LONGEST_SPOKEN = 4000
_NAME = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-_")

# The lowest and the highest value of the panel's numbers.
RANGES: Mapping[str, tuple[float, float]] = {
    "minimum": (1, MOST_BACKENDS),
    "most_behind": (0, 1_000_000),
    "behind_seconds": (0.5, 600.0),
    "queries_per_second": (0, 10_000_000),
    "cache_entries": (0, 100_000_000),
}


@dataclass(frozen=True, slots=True)
class Endpoint:
    address: str
    port: int

    def __str__(self) -> str:
        return join_port(self.address, self.port)


def parse_endpoint(text: object) -> Endpoint:
    """Parse the output of `str(endpoint)`. Raise ValueError if the text is invalid."""
    host, _, port = str(text).rpartition(":")
    address = ipaddress.ip_address(host.removeprefix("[").removesuffix("]"))
    if not (port.isascii() and port.isdecimal() and 1 <= int(port) <= 65535):
        raise ValueError(port)
    return Endpoint(str(address), int(port))


def serves(listening: Endpoint, endpoint: Endpoint) -> bool:
    """Return True if queries to `endpoint` arrive at `listening`.

    The ports must be equal, and the listening address must be the same address or the wildcard address.
    """
    is_address = listening.address == endpoint.address or ipaddress.ip_address(listening.address).is_unspecified
    return is_address and listening.port == endpoint.port


def is_backend_name(name: object) -> TypeGuard[str]:
    """Return True if this is a valid backend name. Backend names are written into dnsdist.conf."""
    return isinstance(name, str) and 1 <= len(name) <= 63 and set(name) <= _NAME


def is_weight(weight: object) -> bool:
    """Return True if this is a valid weight: an integer from 1 to MOST_WEIGHT."""
    return type(weight) is int and 1 <= weight <= MOST_WEIGHT


@dataclass(frozen=True, slots=True)
class Told:
    """The wire form of a sentence that starts with "The node". If both fields are empty, there is no sentence."""

    clause: str  # the rest of the sentence in English, which is all that older releases know
    spoken: str  # the whole sentence as `message_texts.format_text` stores it; empty if it is too long

    @classmethod
    def of(cls, sentence: str) -> Self:
        spoken = format_text(sentence)
        clause = in_english(sentence).removeprefix("The node ").removesuffix(".")
        return cls(clause[:_LONGEST_REASON], spoken if len(spoken) <= _LONGEST_SPOKEN else "")

    @property
    def sentence(self) -> str:
        """The sentence in the current language, or in English if an older release wrote it."""
        if self.spoken:
            return parse_text(self.spoken)
        return f"The node {self.clause}." if self.clause else ""


@dataclass(frozen=True, slots=True)
class Backend:
    """A node that dnsdist can query. If `out`, the reason not to query it now, is empty, the node's answers decide."""

    name: str
    endpoint: Endpoint
    weight: int = 1
    out: str = ""  # a clause, as in `Told`
    spoken: str = ""

    @property
    def sentence(self) -> str:
        """A sentence with the reason why dnsdist must not query this node now, or "" if the node's answers decide."""
        return Told(self.out, self.spoken).sentence

    def to_json(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "address": str(self.endpoint),
            "weight": self.weight,
            "out": self.out,
            "spoken": self.spoken,
        }

    @classmethod
    def from_json(cls, message: Mapping[str, Any]) -> Self:
        """Read a backend. Raise ValueError, KeyError or TypeError if it is invalid."""
        name, weight, out = message["name"], message.get("weight", 1), message.get("out", "")
        spoken = message.get("spoken", "")
        if not is_backend_name(name) or not is_weight(weight) or not isinstance(out, str):
            raise ValueError(f"{name!r:.80} is no backend")
        is_read = isinstance(spoken, str) and len(spoken) <= _LONGEST_SPOKEN
        return cls(name, parse_endpoint(message["address"]), weight, out[:_LONGEST_REASON], spoken if is_read else "")


@dataclass(frozen=True, slots=True)
class FrontSettings:
    """The settings that an operator chose for a front, and the panel's data about the nodes behind it.

    A node that lacks more than `most_behind` changes for `behind_seconds` leaves the rotation if at least `minimum`
    nodes stay. `queries_per_second` limits each client. A limit or a number of `cache_entries` of 0 means none.
    """

    backends: tuple[Backend, ...]
    minimum: int = 1
    most_behind: int = 0
    behind_seconds: float = 1.0
    queries_per_second: int = 0
    cache_entries: int = 0

    @property
    def digest(self) -> str:
        """An identifier of these settings, computed from their values: 32 hex digits.

        `spoken` is left out, because it only repeats `out` and older agents lack it.
        """
        known = self.to_json()
        for backend in known["backends"]:
            del backend["spoken"]
        text = json.dumps(known, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:32]

    def to_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in RANGES} | {
            "backends": [backend.to_json() for backend in self.backends]
        }

    @classmethod
    def from_json(cls, message: Mapping[str, Any]) -> Self:
        """Read settings. Raise BadBytes if a value is invalid, because all values are written into dnsdist.conf."""
        try:
            backends = tuple(Backend.from_json(each) for each in message["backends"])
            numbers = {name: message[name] for name in RANGES}
            numbers["behind_seconds"] = float(numbers["behind_seconds"])
            for name, (lowest, highest) in RANGES.items():
                expected = float if name == "behind_seconds" else int
                if type(numbers[name]) is not expected or not lowest <= numbers[name] <= highest:
                    raise ValueError(f"{name} has to be between {lowest} and {highest}")
            if len(backends) > MOST_BACKENDS or len({each.name for each in backends}) < len(backends):
                raise ValueError(f"at most {MOST_BACKENDS} backends, each with a name of its own")
            return cls(backends, **numbers)
        except (KeyError, TypeError, ValueError, AttributeError) as exc:
            raise BadBytes(what="settings of a front", reason=str(exc) or type(exc).__name__) from exc


@dataclass(frozen=True, slots=True)
class BackendReport:
    """The state of a node behind a front, as reported by the front."""

    name: str
    address: str
    weight: int
    is_in: bool  # in rotation: dnsdist queries it
    is_up: bool  # it answers dnsdist's own check
    reason: str  # the reason to be in or out: a clause, as in `Told`
    sequence: int  # of its proved position; 0: none
    behind: int  # the number of missing changes
    queries: int  # sent by dnsdist since its start
    qps: float
    drops: int  # left without an answer
    latency_ms: float
    spoken: str = ""

    @property
    def sentence(self) -> str:
        """A sentence in the current language that explains why the node is in or out of rotation."""
        return Told(str(self.reason), str(self.spoken)).sentence


@dataclass(frozen=True, slots=True)
class FrontReport:
    """The fields that a front's status has in addition to those of a node's status."""

    settings: str  # `FrontSettings.digest` of the current settings; empty: none yet
    minimum: int
    bypassed_zones: int  # answered by nodes instead of the cache, because they have just changed
    backends: tuple[BackendReport, ...] = ()
    rule_drops: int = 0  # queries that dnsdist sent to TCP, or dropped, since its start

    @property
    def in_rotation(self) -> int:
        """The number of nodes that are in rotation and answer."""
        return sum(backend.is_in and backend.is_up for backend in self.backends)

    @property
    def is_below_minimum(self) -> bool:
        """True if fewer nodes answer in rotation than the configured minimum."""
        return bool(self.backends) and self.in_rotation < self.minimum

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, message: Mapping[str, Any]) -> Self:
        """Read a report and ignore unknown fields. Raise BadBytes if a field is missing or has another type."""
        try:
            backends = tuple(BackendReport(**_fields_in(each, BackendReport)) for each in message.get("backends", ()))
            return cls(**_fields_in(message, cls), backends=backends)
        except (TypeError, AttributeError) as exc:
            raise BadBytes(what="report of a front", reason=str(exc)) from exc


def _fields_in(message: Mapping[str, Any], of: type[BackendReport | FrontReport]) -> dict[str, Any]:
    """Return a message's values of a class's plain fields. Raise TypeError for a value of another type."""
    known = [each for each in fields(of) if each.name in message and each.name != "backends"]
    for each in known:
        if type(message[each.name]) not in ((float, int) if each.type is float else (each.type,)):
            raise TypeError(f"{each.name} is {message[each.name]!r:.80}")
    return {each.name: message[each.name] for each in known}


def front_report_in(report: Mapping[str, Any]) -> FrontReport | None:
    """Return the front's part of a status report, or None if it is missing or unreadable."""
    try:
        return FrontReport.from_json(report["front"])
    except (KeyError, BadBytes):
        return None
