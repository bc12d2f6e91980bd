"""Parse the fields of plain lines, and cache the results for the whole process. Pure."""

import re
from collections.abc import Callable
from typing import Generic, TypeVar

from dnspanel.transfer.zonefile.zonefile_content import APEX
from replication.dns import names
from replication.dns.rrset import MAX_TTL

V = TypeVar("V")
Pair = tuple[str, bytes]  # rdata: canonical text, and wire form

MOST_KEPT = 20_000
# If both parts are shorter than this, the length of the full name needs no check.
LONGEST_ZONE, LONGEST_LABELS = 120, 120


class Table(dict[str, V], Generic[V]):
    """A dict that computes missing values and is cleared when full. It raises KeyError for text that isn't plain."""

    def __init__(self, make: Callable[[str], V]) -> None:
        self._make = make

    def __missing__(self, word: str) -> V:
        made = self._make(word)
        if len(self) >= MOST_KEPT:
            self.clear()
        self[word] = made
        return made


# The apex relative to the zone: as people write it, and the rest of the absolute name. `@.example.test.` is neither.
APEX_WORD = " "
_APEX_NAMES = ("@", APEX_WORD)
_LABELS = re.compile(r"(?:[a-z0-9_*-]{1,63}\.)*[a-z0-9_*-]{1,63}", re.ASCII)
_TTL = re.compile(r"(?:[0-9]{1,10}[smhdw])+|[0-9]{1,10}", re.ASCII)
_TTL_PART = re.compile(r"([0-9]+)([smhdw]?)", re.ASCII)
_UNITS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}


def seconds(word: str) -> int | None:
    """Parse a TTL such as `300`, `1h30m` or `2W` into seconds, in or out of range. Return None for other tokens."""
    lowered = word.lower()
    if not _TTL.fullmatch(lowered):
        return None
    return sum(int(number) * _UNITS[unit] for number, unit in _TTL_PART.findall(lowered))


def ttl_of(word: str) -> int:
    ttl = seconds(word)
    if ttl is None or ttl > MAX_TTL:
        raise KeyError(word)
    return ttl


def _labels(word: str) -> tuple[str, bytes, bytes]:
    """Return a relative name in lowercase with a final dot ("" at the apex), its key, and its labels in wire form."""
    if word in _APEX_NAMES:
        return "", APEX, b""
    lowered = word.lower()
    if len(word) > LONGEST_LABELS or not _LABELS.fullmatch(lowered):
        raise KeyError(word)
    labels = lowered.encode("ascii").split(b".")
    wire = b"".join([bytes((len(label),)) + label for label in labels])
    return lowered + ".", b"\0".join(labels[::-1]) + b"\0", wire


def _labels_in_rdata(word: str) -> tuple[str, bytes, bytes]:
    """Parse a name in rdata like `_labels`, but preserve capitals, except in the key."""
    below, key, wire = _labels(word)
    if below in ("", word + "."):
        return below, key, wire
    labels = word.encode("ascii").split(b".")
    return word + ".", key, b"".join([bytes((len(label),)) + label for label in labels])


def _absolute(word: str) -> Pair:
    """Return a lowercase name with its trailing dot, and its wire form."""
    if word == names.ROOT:
        return word, names.to_wire(word)
    if len(word) > 254 or not _LABELS.fullmatch(word[:-1]):
        raise KeyError(word)
    return word, names.to_wire(word)


def _u16(word: str) -> Pair:
    if not (word.isdigit() and len(word) <= 10 and int(word) < 1 << 16):
        raise KeyError(word)
    return str(int(word)), int(word).to_bytes(2, "big")


def _timers(fields: str) -> Pair:
    """Return an SOA's last four fields (its times), as text and in wire form."""
    times = [ttl_of(word) for word in fields.split(" ")]
    return " ".join(map(str, times)), b"".join([time.to_bytes(4, "big") for time in times])


TTLS: Table[int] = Table(ttl_of)
LABELS: Table[tuple[str, bytes, bytes]] = Table(_labels)
LABELS_IN_RDATA: Table[tuple[str, bytes, bytes]] = Table(_labels_in_rdata)
ABSOLUTE: Table[Pair] = Table(_absolute)
U16: Table[Pair] = Table(_u16)
TIMERS: Table[Pair] = Table(_timers)
