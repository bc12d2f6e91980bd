"""Parse the search language: words, and words with a filter such as `type:mx` or `-tag:shop`. Pure.

Every search box uses this language. All words of a search must match. Quotes join words and remove special meanings:
`team:"Web ops"`, `"include:spf"`. A hyphen negates a word: `-type:txt`. A word with an unknown filter before a colon is
searched as text, and the filter is reported as unknown.
"""

import difflib
import json
import re
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from enum import StrEnum
from functools import lru_cache, partial
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from dnspanel.texts import gettext, spoken
from replication.dns import rdtypes
from replication.dns.rrset import MAX_TTL
from replication.errors import BadRdata

MOST_TERMS = 20
LONGEST_SEARCH = 300

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

_WORD = re.compile(r'(?:"[^"]*"|\S)+')
_QUOTED = re.compile(r'"([^"]*)"')
_FILTER = re.compile(r"([a-z][a-z-]*):", re.ASCII | re.IGNORECASE)
_LENGTH = re.compile(r"([0-9]{1,10})([smhdw]?)", re.ASCII | re.IGNORECASE)
_COMPARED = re.compile(r"(<=|>=|<|>|)(.*)", re.DOTALL)

_UNITS = {"": 1, "s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
_LONGEST_AGO = timedelta(days=36_500)


class Filter(StrEnum):
    """The filters that can come before the colon in a word. WORD means a word without a filter."""

    WORD = ""
    # For RRsets.
    TYPE = "type"
    TTL = "ttl"
    NAME = "name"
    VALUE = "value"
    COMMENT = "comment"
    QUERIED = "queried"
    # For their zones.
    ZONE = "zone"
    TAG = "tag"
    TEAM = "team"
    OWNER = "owner"
    DNSSEC = "dnssec"
    SYNC = "sync"
    PRIMARY = "primary"
    CHANGED = "changed"
    SERIAL = "serial"
    # A whole value, or a fault that the rules report.
    HAS = "has"


FILTERS = tuple(sorted(kind for kind in Filter if kind))
OF_RRSETS = frozenset({Filter.TYPE, Filter.TTL, Filter.NAME, Filter.VALUE, Filter.COMMENT, Filter.QUERIED})
OF_ZONES = frozenset(
    {
        Filter.ZONE,
        Filter.TAG,
        Filter.TEAM,
        Filter.OWNER,
        Filter.DNSSEC,
        Filter.SYNC,
        Filter.PRIMARY,
        Filter.CHANGED,
        Filter.SERIAL,
    }
)

# Filters that only take one of these words, with the meaning of each word.
CHOICES = {
    Filter.DNSSEC: {
        "signed": "signed",
        "on": "signed",
        "unsigned": "unsigned",
        "off": "unsigned",
        "rolling": "rolling",
    },
    Filter.SYNC: {"late": "late", "done": "done"},
    Filter.PRIMARY: {"elsewhere": "elsewhere", "here": "here"},
}
NOBODY = "none"  # owner:none, team:none
WARNING = "warning"  # has:warning


@dataclass(frozen=True, slots=True)
class Span:
    """Numbers from `low` to `high`, inclusive. None means no bound."""

    low: int | None = None
    high: int | None = None


@dataclass(frozen=True, slots=True)
class Since:
    """A range for the last change or question, from `after` up to but excluding `before`: times, ages, or no bound."""

    after: datetime | timedelta | None = None
    before: datetime | timedelta | None = None


Meaning = str | Address | Network | Span | Since | frozenset[int]


@dataclass(frozen=True, slots=True)
class Term:
    """One word of a search: its filter, its parsed meaning, whether it is negated, and the word as typed.

    `meaning` is usually a string. For a WORD, it can be an address or a network. For TYPE, it is a set of type numbers.
    For TTL, it is a Span. For SERIAL, it is a Span or the first digits, and for CHANGED and QUERIED a Since.
    """

    filter: Filter
    meaning: Meaning
    negated: bool
    typed: str

    @property
    def text(self) -> str:
        """The meaning as a string."""
        return str(self.meaning)

    @property
    def is_warning(self) -> bool:
        """True if the term is `has:warning`, which finds complaints. In quotes, `warning` is an ordinary value."""
        return self.filter is Filter.HAS and self.text.lower() == WARNING and '"' not in self.typed

    @property
    def is_about_rrsets(self) -> bool:
        """True if the term's filter is for RRsets. A zone matches the term if one of its RRsets does."""
        return self.filter in OF_RRSETS or self.filter is Filter.HAS


@dataclass(frozen=True, slots=True)
class Fault:
    """An invalid word of a search, and the reason."""

    word: str
    message: str


@dataclass(frozen=True, slots=True)
class Unknown:
    """An unknown filter before a colon, and the filter that the person probably meant ("" if none is similar)."""

    name: str
    closest: str


@dataclass(frozen=True, slots=True)
class Search:
    """A parsed search. Each term must match. A search with a fault finds nothing."""

    terms: tuple[Term, ...] = ()
    faults: tuple[Fault, ...] = ()
    unknown: tuple[Unknown, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.terms or self.faults)

    @property
    def about_zones(self) -> tuple[Term, ...]:
        """The terms with a filter for zones, including tags."""
        return tuple(term for term in self.terms if term.filter in OF_ZONES)

    @property
    def about_zones_alone(self) -> tuple[Term, ...]:
        """The terms with a filter for zones only. Tags are excluded, because RRsets can have tags too."""
        return tuple(term for term in self.about_zones if term.filter is not Filter.TAG)

    @property
    def tags(self) -> tuple[Term, ...]:
        """The terms with the filter `tag`. A zone needs the tag itself; for an RRset, its zone's tag is enough."""
        return tuple(term for term in self.terms if term.filter is Filter.TAG)

    @property
    def about_rrsets(self) -> tuple[Term, ...]:
        """The terms with a filter for RRsets."""
        return tuple(term for term in self.terms if term.is_about_rrsets)

    @property
    def warnings(self) -> tuple[Term, ...]:
        """The terms `has:warning`, which find complaints."""
        return tuple(term for term in self.terms if term.is_warning)

    @property
    def needles(self) -> tuple[str, ...]:
        """The lowercase strings that pages highlight in results: positive words, and positive text filters."""
        kinds = {Filter.WORD, Filter.NAME, Filter.VALUE, Filter.COMMENT, Filter.ZONE, Filter.HAS}
        terms = (term for term in self.terms if term.filter in kinds and not (term.negated or term.is_warning))
        return tuple(term.text.lower() for term in terms)

    @property
    def words(self) -> tuple[Term, ...]:
        """The terms without a filter, which are compared with zones and RRsets."""
        return tuple(term for term in self.terms if term.filter is Filter.WORD)


def parse(text: str) -> Search:
    """Parse a search. Never raise: invalid words are in `faults`, and unknown filters in `unknown`.

    The time is linear in the length of the text. A search of more than MOST_TERMS words has a fault.
    """
    found = _parse_text(text)
    if not found.faults:
        return found
    return replace(found, faults=tuple(replace(each, message=spoken(each.message)) for each in found.faults))


@lru_cache(maxsize=256)
def _parse_text(text: str) -> Search:
    words = split_search(text.replace("\0", " "))
    if len(words) > MOST_TERMS:
        return Search(
            faults=(
                Fault(
                    words[MOST_TERMS],
                    gettext("A search can have at most {most_terms} words.").format(most_terms=MOST_TERMS),
                ),
            )
        )
    terms: list[Term] = []
    faults: list[Fault] = []
    for word in words:
        try:
            terms.append(_term(word))
        except _Misread as exc:
            faults.append(Fault(word, str(exc)))
    unknown = tuple(Unknown(name, closest_to(name, FILTERS)) for name in unknown_filters(text, FILTERS))
    return Search(tuple(terms), tuple(faults), unknown)


def split_search(search: str) -> list[str]:
    """Split a search into words. Quotes join words."""
    return _WORD.findall(search)


def unknown_filters(search: str, known: Collection[str]) -> list[str]:
    """Return the filters in the search that aren't in `known`. Colons in IPv6 addresses don't count."""
    found = []
    for word in split_search(search):
        word = word.removeprefix("-")
        match = _FILTER.match(word)
        if match and match[1].lower() not in known and match[1] not in found and _address(word) is None:
            found.append(match[1])
    return found


def closest_to(word: str, known: Collection[str]) -> str:
    """Return the word in `known` that is most similar to `word`, or "" if none is similar."""
    return next(iter(difflib.get_close_matches(word.lower()[:40], known, n=1, cutoff=0.6)), "")


def span_of(text: str, read: Callable[[str], int]) -> Span:
    """Parse a span such as `<300`, `>=300` or `300..3600`. `read` parses each number and raises ValueError."""
    low, dots, high = text.partition("..")
    if dots:
        return Span(read(low) if low else None, read(high) if high else None)
    match = _COMPARED.fullmatch(text)
    assert match is not None
    number = read(match[2])
    return {
        "<": Span(high=number - 1),
        "<=": Span(high=number),
        ">": Span(low=number + 1),
        ">=": Span(low=number),
        "": Span(number, number),
    }[match[1]]


def seconds_of(text: str) -> int:
    """Parse a duration such as `300`, `5m`, `1h` or `7d`, in seconds. Raise ValueError for other forms."""
    match = _LENGTH.fullmatch(text)
    if match is None:
        raise ValueError(text)
    return int(match[1]) * _UNITS[match[2].lower()]


class _Misread(Exception):
    """The value of a filter is invalid. The message can be shown to the user."""


def _term(word: str) -> Term:
    negated = len(word) > 1 and word.startswith("-")
    rest = word[1:] if negated else word
    match = _FILTER.match(rest)
    name = match[1].lower() if match else ""
    if match is None or name not in FILTERS or _address(rest) is not None:
        return Term(Filter.WORD, _word_meaning(rest), negated, word)
    kind = Filter(name)
    text = _remove_quotes(rest[match.end() :])
    if not text.strip():
        raise _Misread(gettext("{name}: needs a value directly after the colon, without a space.").format(name=name))
    return Term(kind, _READERS.get(kind, _text)(text), negated, word)


def _remove_quotes(word: str) -> str:
    return _QUOTED.sub(r"\1", word)


def _word_meaning(word: str) -> Meaning:
    """Parse an address or a network. Return other words, and words in quotes, as strings."""
    if '"' in word:
        return _remove_quotes(word) or word
    address = _address(word)
    if address is not None:
        return address
    if "/" in word:
        with suppress(ValueError):
            return ip_network(word, strict=False)
    return word


def _address(word: str) -> Address | None:
    if "%" in word or not (word[-1:].isalnum() or word.endswith(":")):
        return None
    with suppress(ValueError):
        return ip_address(word)
    return None


def _text(text: str) -> str:
    return text


def _choice(kind: Filter) -> Callable[[str], str]:
    def read(text: str) -> str:
        known = CHOICES[kind]
        if text.lower() not in known:
            raise _Misread(
                gettext("{filter}: must be {value}, not {text}.").format(
                    filter=kind, value=_join_with_or(tuple(known)), text=text
                )
            )
        return known[text.lower()]

    return read


def _types(text: str) -> frozenset[int]:
    found = set()
    for name in text.split(","):
        try:
            found.add(rdtypes.type_from_text(name.strip()))
        except BadRdata as exc:
            closest = closest_to(name, [rdtypes.type_to_text(each).lower() for each in rdtypes.SERVED_TYPES])
            message = gettext("type: needs record types, for example mx or mx,txt. {name} isn’t a valid type.").format(
                name=name
            )
            if closest:
                message = gettext("{message} Did you mean type:{closest}?").format(message=message, closest=closest)
            raise _Misread(message) from exc
    return frozenset(found)


def _ttl(text: str) -> Span:
    try:
        span = span_of(text, seconds_of)
    except ValueError as exc:
        raise _Misread(
            gettext(
                "ttl: needs seconds or a duration, for example ttl:300, ttl:<1h or ttl:5m..1d. {text} isn’t valid."
            ).format(text=text)
        ) from exc
    return _within(span, MAX_TTL)


def _serial(text: str) -> Span | str:
    """Parse a span, or the first digits of a serial: fewer than ten digits, or digits with a mark (`2026…`, `2026*`).

    Raise _Misread if the text is invalid.
    """
    digits = text.rstrip("*.…")
    if digits != text or (digits.isascii() and digits.isdigit() and len(digits) < 10):
        if digits.isascii() and digits.isdigit() and len(digits) <= 10:
            return digits
    else:
        with suppress(ValueError):
            return _within(span_of(text, _number), 2**32 - 1)
    raise _Misread(
        gettext(
            "serial: needs a serial, its first digits, or a comparison such as serial:>2026010100. {text} isn’t valid."
        ).format(text=text)
    )


def _number(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 10):
        raise ValueError(text)
    return int(text)


def _within(span: Span, most: int) -> Span:
    """Limit the ends of the span to -1 and `most` + 1, which fit into the column."""
    low, high = (None if end is None else max(-1, min(end, most + 1)) for end in (span.low, span.high))
    return Span(low, high)


def _parse_since(text: str, *, kind: Filter) -> Since:
    match = _COMPARED.fullmatch(text)
    assert match is not None
    sign, moment = match[1], match[2]
    if moment.lower() == "today":
        moment = "1d"
    with suppress(ValueError):
        ago = min(timedelta(seconds=seconds_of(moment)), _LONGEST_AGO)
        if moment[-1:].isalpha():  # a bare number isn't a time
            return Since(before=ago) if sign.startswith(">") else Since(after=ago)
    with suppress(ValueError, OverflowError):
        day = datetime.combine(date.fromisoformat(moment), datetime.min.time(), UTC)
        next_day = day + timedelta(days=1)
        return {
            "<": Since(before=day),
            "<=": Since(before=next_day),
            ">": Since(after=next_day),
            ">=": Since(after=day),
            "": Since(day, next_day),
        }[sign]
    raise _Misread(
        gettext(
            "{filter}: needs an age or a date, for example {filter}:<7d, {filter}:>30d or {filter}:2026-11-25. "
            "{text} isn’t valid."
        ).format(filter=kind, text=text)
    )


_READERS: dict[Filter, Callable[[str], Meaning]] = {
    Filter.TYPE: _types,
    Filter.TTL: _ttl,
    Filter.SERIAL: _serial,
    Filter.CHANGED: partial(_parse_since, kind=Filter.CHANGED),
    Filter.QUERIED: partial(_parse_since, kind=Filter.QUERIED),
    Filter.DNSSEC: _choice(Filter.DNSSEC),
    Filter.SYNC: _choice(Filter.SYNC),
}


def _join_with_or(words: tuple[str, ...]) -> str:
    return gettext("{first} or {last}").format(first=", ".join(words[:-1]), last=words[-1])


def rdata_spellings(value: str) -> list[str]:
    """Return the possible stored forms of a typed value: an address, a name with its trailing dot, a quoted string."""
    spellings = {value, value.lower(), value.lower() + ".", json.dumps(value, ensure_ascii=False)}
    with suppress(ValueError):  # not an address
        spellings.add(str(ip_address(value)))
    return sorted(spellings)


def beginning_of(network: Network) -> str:
    """Return the common beginning of the network's addresses (`192.0.2.`, `2001:db8:1:`), or "" if it is unknown."""
    if isinstance(network, IPv4Network):
        return "".join(f"{byte}." for byte in network.network_address.packed[: network.prefixlen // 8])
    groups = network.network_address.exploded.split(":")[: network.prefixlen // 16]
    found = ""
    for group in groups:
        if int(group, 16) == 0:  # it may be part of a `::`
            break
        found += f"{int(group, 16):x}:"
    return found


def escaped_bytes(text: str) -> str:
    """Escape non-ASCII characters as in rdata: each byte of their UTF-8 encoding as a backslash and three digits."""
    return "".join(_escape_bytes(text))


def _escape_bytes(text: str) -> Iterator[str]:
    for char in text:
        if char.isascii():
            yield char
        else:
            yield from (f"\\{byte:03d}" for byte in char.encode(errors="surrogatepass"))
