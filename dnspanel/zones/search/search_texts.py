"""Find the blocks of names that can match a search: a trigram index covers one search text for each block.

A trigram index on the RRsets themselves makes every write three times as slow. Instead, a worker writes one text for
each small zone, or for some hundred names of a large one, shortly after a publication (`texts_upkeep`). A text has a
line for each name, value, comment and tag, in lowercase, and one for each type. A search finds blocks by their texts
and reads the RRsets there. It also reads the zones that were published after the texts were written.
"""

import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network
from typing import Any, NamedTuple

from django.db.models import F, Func, IntegerField, OuterRef, Q, QuerySet, Value
from django.db.models.fields import BinaryField, TextField
from django.db.models.functions import Coalesce
from django.db.models.lookups import GreaterThanOrEqual

from dnspanel.zones.models import Revision, SearchProgress, SearchText, Zone
from dnspanel.zones.models import RRset as StoredRRset
from dnspanel.zones.rights.access import has_any_tag
from dnspanel.zones.search.rrset_conditions import comparable_text, condition, with_texts
from dnspanel.zones.search.terms import Filter, Span, Term, beginning_of, escaped_bytes, rdata_spellings
from dnspanel.zones.search.warned_zones import row_by_row
from dnspanel.zones.store.store_rrsets import BEHIND_ALL_KEYS
from replication.dns import names, rdtypes
from replication.errors import BadName

MOST_NEW_ZONES = 500
FEW_TAGGED = 2_000
MOST_BLOCKS = 60  # of a large zone, examined for one page: as many RRsets as `find_rrsets` compares

# The index needs three letters or digits in a row. Without them, PostgreSQL would read the full index.
_IN_TRIGRAMS = re.compile(r"\w{3}")
_EVERYWHERE = frozenset({rdtypes.A, rdtypes.AAAA, rdtypes.CNAME, rdtypes.MX, rdtypes.NS, rdtypes.SOA, rdtypes.TXT})


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of the search texts: the zones with publications that the texts don't include yet.

    `new_zones` has such zones, up to a limit. `left_out` counts further zones, also up to a limit.
    """

    is_complete: bool = False  # False: the texts are being written for the first time, so they are not used yet
    new_zones: frozenset[int] = frozenset()
    without_texts: frozenset[int] = frozenset()  # the new zones that have no texts
    left_out: int = 0


class Block(NamedTuple):
    """The names in a zone from `first` up to but excluding `end`. None means the end of the zone."""

    first: bytes
    end: bytes | None


@dataclass(frozen=True, slots=True)
class InZone:
    """The condition for names of a zone, before `end`, that can match a search. None means the end of the zone."""

    among: Q
    end: bytes | None


def progress() -> Progress:
    """Return the progress of the search texts. Needs at most three queries."""
    at = SearchProgress.objects.filter(last_zone=None).values_list("sequence", flat=True).first()
    if at is None:
        return Progress()
    # Newest first, because people search for changes that they just published.
    newer = Revision.objects.filter(publication__gt=at).order_by("-publication")
    zones = list(newer.values_list("zone_id", flat=True)[: 4 * MOST_NEW_ZONES])
    found = list(dict.fromkeys(zones))
    new_zones = frozenset(found[:MOST_NEW_ZONES])
    with_texts = SearchText.objects.filter(zone__in=new_zones, first_key=b"").values_list("zone_id", flat=True)
    without = new_zones.difference(with_texts) if new_zones else new_zones
    left_out = max(0, len(found) - MOST_NEW_ZONES)
    return Progress(is_complete=True, new_zones=new_zones, without_texts=without, left_out=left_out)


def may_hold(terms: tuple[Term, ...]) -> Q | None:
    """Return the condition for search texts that can have matching RRsets, or None if the index can't help.

    Negated terms, and terms that the trigram index can't find, are left out, because they require a full scan.
    """
    return _saying([term for term in terms if not term.negated], "text", all_pieces=False)


def in_index(terms: tuple[Term, ...]) -> bool:
    """Return True if the trigram index can find search texts for at least one term that isn't negated."""
    return any(_is_in_trigrams(pieces_of(term)) for term in terms if not term.negated)


def zones_with(terms: tuple[Term, ...], most: int) -> list[int] | None:
    """Return the ids of zones whose search texts can have matching RRsets, or None if more than `most` texts match."""
    ids = list(SearchText.objects.filter(may_hold(terms) or Q()).values_list("zone_id", flat=True)[: most + 1])
    return sorted(set(ids)) if len(ids) <= most else None


def holds(terms: tuple[Term, ...], known: Progress) -> Q:
    """Return the query condition for zones with an RRset that matches all terms. Negations are ignored.

    PostgreSQL checks the condition zone by zone, search texts before RRsets.
    """
    direct = StoredRRset.objects.filter(zone__gte=OuterRef("pk"), zone__lte=OuterRef("pk"))
    may = _saying(terms, "read", all_pieces=True) if known.is_complete and not known.left_out else None
    if may is None:
        return row_by_row(_fitting(direct, terms))
    # This expression isn't in any index. Otherwise PostgreSQL would use the trigram index for each zone.
    texts = SearchText.objects.alias(read=Func(F("text"), template="(%(expressions)s || '')", output_field=TextField()))
    # Two bounds, because for an equality PostgreSQL would start from the RRsets of all zones.
    blocks = texts.filter(may, zone__gte=OuterRef("pk"), zone__lte=OuterRef("pk"))
    end = Coalesce(OuterRef("end_key"), Value(BEHIND_ALL_KEYS), output_field=BinaryField())
    rrsets = StoredRRset.objects.filter(zone=OuterRef("zone"), owner_key__gte=OuterRef("first_key"), owner_key__lt=end)
    if _says_all(terms):
        found = row_by_row(blocks)
        is_new = Q(pk__in=known.new_zones)
        return is_new & row_by_row(_fitting(direct, terms)) | ~is_new & found if known.new_zones else found
    found = row_by_row(blocks.filter(row_by_row(_fitting(rrsets, terms))))
    return found | Q(pk__in=known.new_zones) & row_by_row(_fitting(direct, terms)) if known.new_zones else found


def _says_all(terms: tuple[Term, ...]) -> bool:
    """Return True if each current search text that matches the terms has a matching RRset."""
    return len(terms) == 1 and terms[0].filter is Filter.TYPE


def rrsets_fitting(terms: tuple[Term, ...]) -> "QuerySet[StoredRRset] | None":
    """Select the RRsets that match all terms, ignoring negations. Return None if there are no terms."""
    return _fitting(StoredRRset.objects.all(), terms) if terms else None


def _fitting(rrsets: "QuerySet[StoredRRset]", terms: tuple[Term, ...]) -> "QuerySet[StoredRRset]":
    rrsets = with_texts(rrsets)
    for term in terms:
        rrsets = rrsets.filter(condition(term))
    return rrsets


def _saying(terms: Sequence[Term], column: str, *, all_pieces: bool) -> Q | None:
    found: Q | None = None
    has_ttl = any(term.filter is Filter.TTL for term in terms)
    for term in terms:
        says = _says(term, column, all_pieces=all_pieces or (has_ttl and _is_everywhere(term)))
        if says is not None:
            found = says if found is None else found & says
    return found


def _says(term: Term, column: str, *, all_pieces: bool) -> Q | None:
    """Return a condition that every search text with a matching RRset meets, or None if no condition is possible.

    If `all_pieces` is False, the term's pieces are used only if the trigram index can find all of them.
    """
    if term.filter is Filter.TTL and isinstance(term.meaning, Span):
        return _has_ttl_in(term.meaning)
    if term.filter is Filter.TYPE and isinstance(term.meaning, frozenset) and all_pieces:
        return Q(types__overlap=sorted(term.meaning))
    if term.filter is Filter.TAG:
        return _may_have_tag(term.text.lower(), column)
    found: Q | None = Q(has_comments=True) if term.filter is Filter.COMMENT else None
    pieces = pieces_of(term)
    if pieces and (all_pieces or _is_in_trigrams(pieces)):
        any_of_them = Q()
        for piece in pieces:
            any_of_them |= Q(**{f"{column}__contains": piece})
        found = any_of_them if found is None else found & any_of_them
    return found


def _may_have_tag(tag: str, column: str) -> Q:
    """Return the condition for texts that have an RRset with the tag, or whose zone has the tag.

    If only a few zones have the tag, the condition lists them, so that PostgreSQL can use an index for each part.
    """
    tagged_zones = Zone.objects.filter(has_any_tag([tag]))
    few = list(tagged_zones.values_list("pk", flat=True)[: FEW_TAGGED + 1])
    of_zones = Q(zone__in=few) if len(few) <= FEW_TAGGED else Q(zone__in=tagged_zones.values("pk"))
    return Q(**{f"{column}__contains": f"\ntag:{tag}\n"}) | of_zones


def _is_everywhere(term: Term) -> bool:
    """Return True for a type that most zones have, such as NS: the trigram index doesn't narrow a search for it."""
    return term.filter is Filter.TYPE and isinstance(term.meaning, frozenset) and bool(term.meaning & _EVERYWHERE)


def _is_in_trigrams(pieces: list[str]) -> bool:
    return bool(pieces) and all(map(_IN_TRIGRAMS.search, pieces))


def _has_ttl_in(span: Span) -> Q:
    """Return the condition for search texts that can have a TTL in the span.

    For a range, the condition only compares the lowest and highest TTL. It therefore also matches a search text with
    TTLs below and above the range.
    """
    if span.low is not None and span.low == span.high:
        return Q(ttls__contains=[span.low])
    found = Q()
    if span.high is not None:
        found &= Q(ttls__0__lte=span.high)
    if span.low is not None:
        highest = Func(
            F("ttls"), template="(%(expressions)s)[cardinality(%(expressions)s)]", output_field=IntegerField()
        )
        found &= Q(GreaterThanOrEqual(highest, Value(span.low)))
    return found


def in_large_zone(zone: Zone, terms: tuple[Term, ...], start: bytes) -> InZone | None:
    """Return a condition for the zone's names from `start` onward that can match.

    Return None if the search texts can't help. Needs at most four queries, and one more for each tag in the search.
    """
    may = may_hold(terms)
    if may is None or not _know(zone):
        return None
    rows = SearchText.objects.filter(may, Q(end_key=None) | Q(end_key__gt=start), zone=zone).order_by("first_key")
    blocks = _blocks(rows.values_list("first_key", "end_key")[: MOST_BLOCKS + 1])
    among = within(blocks[:MOST_BLOCKS])
    return InZone(among, None if len(blocks) <= MOST_BLOCKS else blocks[MOST_BLOCKS - 1].end)


def within(blocks: Sequence[Block]) -> Q:
    """Return the query condition for RRsets in these blocks of one zone. The blocks must be in order.

    The outer bounds come first, so that PostgreSQL scans only that range of the primary key.
    """
    among = Q(owner_key__in=[])
    for block in blocks:
        among |= _between(block)
    return _between(Block(blocks[0].first, blocks[-1].end)) & among if len(blocks) > 1 else among


def _between(block: Block) -> Q:
    behind = Q(owner_key__gte=block.first)
    return behind if block.end is None else behind & Q(owner_key__lt=block.end)


def blocks_by_value(zone: Zone, values: str) -> dict[int, list[Block]] | None:
    """Return the zone's blocks, in order, keyed by each value in the column `values`, which is `types` or `ttls`.

    Return None if the zone's texts aren't current.
    """
    if not _know(zone):
        return None
    found: dict[int, list[Block]] = {}
    rows = SearchText.objects.filter(zone=zone).order_by("first_key").values_list("first_key", "end_key", values)
    for first, end, of_block in rows:
        block = _block(first, end)
        for value in of_block:
            found.setdefault(value, []).append(block)
    return found


def blocks_with_comments(zone: Zone) -> list[Block] | None:
    """Return the zone's blocks that have comments or tags.

    Return None if the zone's texts aren't current, or if there are more than MOST_BLOCKS such blocks.
    """
    if not _know(zone):
        return None
    rows = SearchText.objects.filter(zone=zone, has_comments=True).order_by("first_key")
    found = _blocks(rows.values_list("first_key", "end_key")[: MOST_BLOCKS + 1])
    return found if len(found) <= MOST_BLOCKS else None


def _know(zone: Zone) -> bool:
    """Return True if the zone's search texts are known to be current. Needs up to three queries."""
    at = progress()
    return at.is_complete and not at.left_out and zone.pk not in at.new_zones


def _blocks(rows: Iterable[tuple[Any, Any]]) -> list[Block]:
    return [_block(first, end) for first, end in rows]


def _block(first: Any, end: Any) -> Block:
    return Block(bytes(first), None if end is None else bytes(end))


def pieces_of(term: Term) -> list[str]:
    """Return strings to find in the trigram index. The text of a matching RRset contains at least one of them.

    An empty list means that any text can match.
    """
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
        case Filter.HAS, text if not term.is_warning:
            return [f"\n{spelling.lower()}\n" for spelling in rdata_spellings(str(text))]
        case Filter.WORD, text:
            return list(dict.fromkeys([*_in_names(str(text)), escaped_bytes(str(text)).lower(), str(text).lower()]))
    return []


def _in_names(text: str) -> list[str]:
    found = [comparable_text(text)]
    if not text.isascii():
        with suppress(BadName):
            found.append(names.parse(text).removesuffix("."))
    return found
