"""What RRsets say, in blocks with an index of trigrams: which blocks can hold what a search looks for.

An index of trigrams on RRsets themselves makes every write three times as slow. So a worker writes one text for each
small zone, or for some hundred names of a large one, a moment after they are published (`texts_upkeep`). A text has a
line for each name, value and comment, in lower case, and one for each type. Who searches asks the texts where to look,
looks at the RRsets there, and looks at the zones that were published since besides.
"""

import re
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

from django.db.models import Q

from dnspanel.zones.models import Revision, SearchProgress, SearchText, Zone
from dnspanel.zones.search.rrset_conditions import lowered
from dnspanel.zones.search.terms import Filter, Term, beginning_of, escaped_bytes, rdata_spellings
from replication.dns import names
from replication.errors import BadName

MOST_NEW_ZONES = 500
MOST_BLOCKS = 60  # of a large zone that are looked into for a page: as many RRsets as `find_rrsets` compares

# What the index knows: three letters or digits in a row. Without them, PostgreSQL would read all of it.
_IN_TRIGRAMS = re.compile(r"\w{3}")


@dataclass(frozen=True, slots=True)
class Progress:
    """How far the texts have come: they miss what was published in these zones since, and in `left_out` more."""

    is_complete: bool = False  # False: the texts are being written for the first time, and are of no use yet
    new_zones: frozenset[int] = frozenset()
    without_texts: frozenset[int] = frozenset()  # of the new zones, those that have none
    left_out: int = 0


@dataclass(frozen=True, slots=True)
class InZone:
    """Names of a zone where something may be found, below `end`; None: to the end of the zone."""

    among: Q
    end: bytes | None


def progress() -> Progress:
    """How far the texts have come. In two queries, or three while something is new."""
    at = SearchProgress.objects.filter(last_zone=None).values_list("sequence", flat=True).first()
    if at is None:
        return Progress()
    # The newest first: who has just published something looks for it.
    newer = Revision.objects.filter(publication__gt=at).order_by("-publication")
    zones = list(newer.values_list("zone_id", flat=True)[: 4 * MOST_NEW_ZONES])
    found = list(dict.fromkeys(zones))
    new_zones = frozenset(found[:MOST_NEW_ZONES])
    with_texts = SearchText.objects.filter(zone__in=new_zones, first_key=b"").values_list("zone_id", flat=True)
    without = new_zones.difference(with_texts) if new_zones else new_zones
    return Progress(True, new_zones, without, max(0, len(found) - MOST_NEW_ZONES))


def may_hold(terms: tuple[Term, ...]) -> Q | None:
    """The texts in which there may be RRsets that fit all of these terms; None if the index knows none of them."""
    found: Q | None = None
    for term in terms:
        pieces = [] if term.negated else pieces_of(term)
        if pieces and all(map(_IN_TRIGRAMS.search, pieces)):
            any_of_them = Q()
            for piece in pieces:
                any_of_them |= Q(text__contains=piece)
            found = any_of_them if found is None else found & any_of_them
    return found


def may_be_in_zones(terms: tuple[Term, ...]) -> Q | None:
    """The zones in which there may be RRsets that fit all of these terms; None if that is not known. In two queries."""
    texts = may_hold(terms)
    if texts is None:
        return None
    found = progress()
    if not found.is_complete or found.left_out:
        return None
    # Each `or` keeps PostgreSQL from reading the zones in the order in which they are listed.
    among = SearchText.objects.filter(texts | Q(zone__in=found.new_zones) if found.new_zones else texts)
    there = Q(pk__in=among.values("zone"))
    return there | Q(pk__in=found.without_texts) if found.without_texts else there


def in_large_zone(zone: Zone, terms: tuple[Term, ...], start: bytes) -> InZone | None:
    """Where in a zone RRsets at or behind `start` may fit; None if the texts do not know. In at most four queries."""
    may = may_hold(terms)
    at = None if may is None else progress()
    if may is None or at is None or not at.is_complete or at.left_out or zone.pk in at.new_zones:
        return None
    rows = SearchText.objects.filter(may, Q(end_key=None) | Q(end_key__gt=start), zone=zone).order_by("first_key")
    blocks = [(bytes(first), end) for first, end in rows.values_list("first_key", "end_key")[: MOST_BLOCKS + 1]]
    among = Q(owner_key__in=[])
    for first, end in blocks[:MOST_BLOCKS]:
        among |= Q(owner_key__gte=first) if end is None else Q(owner_key__gte=first, owner_key__lt=end)
    if len(blocks) <= MOST_BLOCKS:
        return InZone(among, None)
    until = blocks[MOST_BLOCKS - 1][1]
    assert until is not None  # another block follows
    return InZone(among, bytes(until))


def pieces_of(term: Term) -> list[str]:
    """What is in the text of every RRset that fits the term: one of these at least. Empty: any text will do."""
    match term.filter, term.meaning:
        case Filter.WORD, IPv4Address() | IPv6Address() as address:
            return [f"\n{address}\n", f"\n{address.reverse_pointer}.\n"]
        case Filter.WORD, IPv4Network() | IPv6Network() as network:
            return [f"\n{start}"] if (start := beginning_of(network)) else []
        case Filter.TYPE, frozenset() as types:
            return [f"\ntype{type}\n" for type in sorted(types)]
        case Filter.VALUE, text:
            return [escaped_bytes(str(text)).lower()]
        case Filter.COMMENT, text:
            return [str(text).lower()]
        case Filter.NAME, text:
            return _in_names(str(text))
        case Filter.HAS, text:
            return [f"\n{spelling.lower()}\n" for spelling in rdata_spellings(str(text))]
        case Filter.WORD, text:
            return list(dict.fromkeys([*_in_names(str(text)), escaped_bytes(str(text)).lower(), str(text).lower()]))
    return []


def _in_names(text: str) -> list[str]:
    found = [lowered(text)]
    if not text.isascii():
        with suppress(BadName):
            found.append(names.parse(text).removesuffix("."))
    return found
