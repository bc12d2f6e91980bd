"""Run the queries for `/search-data`: zones by name, records by owner name or content, comments by text.

A pattern must match the whole text, ignoring case. `*` matches any characters and `?` matches one. A pattern without
wildcards is looked up in indexes, which is fast in a panel of any size.

A pattern with wildcards is compared with RRsets. If at most `MOST_COMPARED` RRsets are visible, it is compared with all
of them. Otherwise, only the name at the end of the pattern, its parent zones and its subzones are searched (for
`www*.example.org`: `example.org`, `org` and all zones below `example.org`). If even these zones have more RRsets, only
`MOST_COMPARED` RRsets are compared, in the order of zone names, until the limit of matches is reached. The result is
then marked as possibly incomplete. Comments don't have an index, so they are always compared.

Zone names have a trigram index and a sorted index. For a pattern without three consecutive letters or digits and
without a fixed beginning, PostgreSQL would read the whole trigram index. This takes 10 s for 1,000,000 names. Such a
pattern is compared with the first `MOST_COMPARED` names in sorted order.
"""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any, Generic, TypeVar

from django.contrib.postgres.fields import ArrayField
from django.db import transaction
from django.db.models import BooleanField, F, Q, QuerySet, Sum, TextField, Value
from django.db.models.expressions import RawSQL
from django.db.models.functions import Upper
from django.db.models.lookups import PostgresOperatorLookup

from dnspanel.accounts.actors.actors import Actor
from dnspanel.api.errors import ApiError
from dnspanel.zones.models import RRset, Zone
from dnspanel.zones.rights.access import Visibility, visibility_of, zones_visible_to
from dnspanel.zones.search.zone_conditions import has_many_zones, is_in_trigrams
from replication.codec.keys import relative_key
from replication.dns import names
from replication.dns.rrset import parse_notes
from replication.errors import BadName

MOST_COMPARED = 200_000  # RRsets, which takes about a second
MOST_WILDCARDS = 8

_CHUNK = 500
# The RRsets and zones in the first statement, which returns frequent matches fast. Each later one has twice as many.
_PORTION, _PORTION_ZONES = 20_000, 5_000
_OF_ZONES = '"zones_rrset"."zone_id" = ANY(%s)'  # faster to build than IN with thousands of ids
_WILDCARD = re.compile(r"[*?]")
_TEXTS = ArrayField(TextField())
_NAMED = '"zones_rrset"."name" LIKE %s'
# upper() takes half as long in this collation, which is enough because rdata has only ASCII letters.
_RDATA_FITS = 'upper(t COLLATE "C") LIKE upper(%s) OR upper(t COLLATE "C") LIKE upper(%s)'
_HOLDS = f'EXISTS (SELECT FROM unnest("zones_rrset"."rdata") t WHERE {_RDATA_FITS})'
_MATCHING_RDATA = f'ARRAY(SELECT t FROM unnest("zones_rrset"."rdata") t WHERE {_RDATA_FITS})'
# The comments of an RRset are stored in one text, separated by semicolons.
_COMMENTS = 'string_to_array("zones_rrset"."comment", \'; \')'
_MATCHING_COMMENTS = f'ARRAY(SELECT t FROM unnest({_COMMENTS}) t WHERE "zones_rrset"."name" LIKE %s OR t ILIKE %s)'


class TooGeneral(ApiError):
    """The pattern has too many wildcards, or would have to be compared with too many RRsets."""

    def __init__(self, text: str, reason: str = "") -> None:
        reason = reason or (
            "could be in too many places to look for it: search for a whole name or value, or let the pattern end in "
            "the name of a zone"
        )
        super().__init__(f"'{text[:100]}' {reason}")


class _Like(PostgresOperatorLookup):
    """A Django lookup for PostgreSQL's LIKE. It doesn't escape the pattern."""

    lookup_name = "like"
    postgres_operator = "LIKE"


M = TypeVar("M")


@dataclass(frozen=True, slots=True)
class Matches(Generic[M]):
    """A list of matches. `is_complete` is True if all matches were found or the limit was reached."""

    found: list[M]
    is_complete: bool = True

    def __iter__(self) -> Iterator[M]:
        return iter(self.found)


@dataclass(frozen=True, slots=True)
class Pattern:
    """A search pattern without a trailing dot."""

    text: str

    @property
    def is_exact(self) -> bool:
        """True if the pattern has no wildcards and therefore matches only one string."""
        return _WILDCARD.search(self.text) is None

    @property
    def like(self) -> str:
        """The pattern in PostgreSQL's LIKE syntax."""
        return re.sub(r"([\\%_])", r"\\\1", self.text).replace("*", "%").replace("?", "_")

    @property
    def like_name(self) -> str:
        """The LIKE pattern for names, which are lowercase and end in a dot."""
        return f"{self.like.lower()}."

    @property
    def beginning(self) -> str:
        """The fixed text that every match begins with."""
        return _WILDCARD.split(self.text)[0]

    @property
    def end(self) -> str:
        """The fixed text that every matching name ends with."""
        return f"{_WILDCARD.split(self.text)[-1].lower()}."


@dataclass(frozen=True, slots=True)
class FoundRecord:
    zone_name: str
    name: str
    type: int
    ttl: int
    rdata: str
    disabled: bool
    spelling: str = ""  # the client's spelling, if it differs from the displayed one


@dataclass(frozen=True, slots=True)
class FoundComment:
    zone_name: str
    name: str
    type: int
    text: str


def pattern_of(text: str) -> Pattern:
    """Parse a client's pattern.

    Raise TooGeneral if it has more than MOST_WILDCARDS wildcards, because PostgreSQL tries each one at every position.
    """
    pattern = Pattern(re.sub(r"\*+", "*", text).removesuffix("."))
    if len(_WILDCARD.findall(pattern.text)) > MOST_WILDCARDS:
        raise TooGeneral(pattern.text, f"has more than {MOST_WILDCARDS} wildcards")
    return pattern


def find_zones(actor: Actor, pattern: Pattern, limit: int) -> Matches[str]:
    """Return the first `limit` names of matching visible zones, in sorted order."""
    zones = zones_visible_to(actor).order_by("name")
    if pattern.is_exact:
        zones = zones.filter(name=f"{pattern.text.lower()}.")
    elif pattern.text != "*":
        fitting = _zone_name_like(pattern.like_name)
        if fitting is None and not pattern.beginning:
            return _compared_names(zones, pattern, limit)
        zones = zones.filter(fitting or _Like(F("name"), Value(pattern.like_name)))
    return Matches(list(zones.values_list("name", flat=True)[:limit]))


def _compared_names(zones: QuerySet[Zone], pattern: Pattern, limit: int) -> Matches[str]:
    """Compare a pattern that no index covers with the first MOST_COMPARED names, and return the matches."""
    last = zones.values_list("name", flat=True)[MOST_COMPARED - 1 : MOST_COMPARED].first()
    if last is not None:
        zones = zones.filter(name__lte=last)
    fitting = zones.filter(_Like(F("name"), Value(pattern.like_name)))
    found = list(fitting.values_list("name", flat=True)[:limit])
    return Matches(found, is_complete=last is None or len(found) == limit)


def find_records(actor: Actor, pattern: Pattern, limit: int) -> Matches[FoundRecord]:
    """Return at most `limit` visible records whose owner name or content matches, sorted by zone, name and type."""
    likes = [pattern.like, f"{pattern.like}."]
    named = RawSQL(_NAMED, [pattern.like_name], output_field=BooleanField())
    fitting_rdata = RawSQL(_MATCHING_RDATA, likes, output_field=_TEXTS)

    def matching(rrsets: QuerySet[RRset]) -> Iterator[FoundRecord]:
        rrsets = rrsets.annotate(named=named, fitting_rdata=fitting_rdata)
        return _records(_visible_rows(actor, rrsets, "ttl", "rdata", "disabled", "notes", "named", "fitting_rdata"))

    if pattern.is_exact:
        spellings = _spellings(pattern.text)
        in_capitals = Q(folded__overlap=spellings, folded__isnull=False)
        fitting = _at_name(actor, pattern) | Q(rdata__overlap=spellings) | in_capitals
        rrsets = RRset.objects.filter(fitting, zone__in=zones_visible_to(actor))
        with transaction.atomic(savepoint=False):  # for a server-side cursor: rows arrive one by one
            found = Matches(list(islice(matching(rrsets), limit)))
    else:
        fitting = Q(named) | Q(RawSQL(_HOLDS, likes, output_field=BooleanField()))
        zones = _zones_to_compare(actor, pattern)
        found = _compare(zones, lambda rrsets: matching(rrsets.filter(fitting)), limit)
    return replace(found, found=sorted(found, key=lambda each: (each.zone_name, each.name, each.type)))


def find_comments(actor: Actor, pattern: Pattern, limit: int) -> Matches[FoundComment]:
    """Return at most `limit` matching comments of visible RRsets, sorted by zone, name and type.

    A comment matches if its text or its RRset's name matches the pattern.
    """
    texts = RawSQL(_MATCHING_COMMENTS, [pattern.like_name, pattern.like], output_field=_TEXTS)

    def matching(rrsets: QuerySet[RRset]) -> Iterator[FoundComment]:
        commented = rrsets.exclude(comment="").annotate(matching_comments=texts).filter(matching_comments__len__gt=0)
        for zone, name, type, (found,) in _visible_rows(actor, commented, "matching_comments"):
            yield from (FoundComment(zone, name, type, text) for text in found)

    found = _compare(zones_visible_to(actor), matching, limit)
    return replace(found, found=sorted(found, key=lambda each: (each.zone_name, each.name, each.type)))


def _compare(zones: QuerySet[Zone], matching: Callable[[QuerySet[RRset]], Iterator[M]], limit: int) -> Matches[M]:
    """Return the first `limit` matches among at most MOST_COMPARED RRsets in these zones, ordered by zone name."""
    found: list[M] = []
    left = MOST_COMPARED
    for ids, count in _portions(zones):
        # With a condition on zones instead of ids, PostgreSQL can compare the RRsets of all zones first.
        rrsets = RRset.objects.filter(RawSQL(_OF_ZONES, [ids], output_field=BooleanField()))
        if count > left:
            if len(ids) > 1 or left <= 0:
                return Matches(found, is_complete=False)
            last = rrsets.order_by("owner_key", "type").values_list("owner_key", flat=True)[left - 1 : left].first()
            rrsets = rrsets.filter(owner_key__lte=last)
        with transaction.atomic(savepoint=False):  # for a server-side cursor: rows arrive one by one
            found += islice(matching(rrsets), limit - len(found))
        if len(found) == limit:
            break
        left -= count
        if left < 0:
            return Matches(found, is_complete=False)
    return Matches(found)


def _portions(zones: QuerySet[Zone]) -> Iterator[tuple[list[int], int]]:
    """Yield batches of zone ids to compare together, in the order of zone names, with their number of RRsets.

    Each batch can be twice as large as the previous one, up to MOST_COMPARED. A larger zone is a batch of its own.
    """
    ids: list[int] = []
    total = 0
    most, most_zones = min(_PORTION, MOST_COMPARED), _PORTION_ZONES
    for pk, count in zones.order_by("name").values_list("pk", "rrset_count").iterator(chunk_size=_CHUNK):
        if ids and (total + count > most or len(ids) == most_zones):
            yield ids, total
            ids, total = [], 0
            most, most_zones = min(most * 2, MOST_COMPARED), most_zones * 2
        ids.append(pk)
        total += count
    if ids:
        yield ids, total


def _records(rows: Iterator[tuple[str, str, int, Any]]) -> Iterator[FoundRecord]:
    """Yield the matching records. If an RRset's owner name matches, all its records match."""
    for zone_name, name, type_, (ttl, texts, disabled, notes, named, matching) in rows:
        spellings = dict(parse_notes(notes).spellings)
        for text in texts if named else matching:
            yield FoundRecord(zone_name, name, type_, ttl, text, text in disabled, spellings.get(text, ""))


def _visible_rows(actor: Actor, rrsets: QuerySet[RRset], *columns: str) -> Iterator[tuple[str, str, int, Any]]:
    """Yield zone name, owner name, type and these columns of the RRsets that are visible to the actor."""
    visibilities: dict[int, Visibility | None] = {}
    rows = rrsets.values_list("zone_id", "zone__name", "zone__tags", "zone__team_id", "name", "type", *columns)
    for zone_id, zone_name, tags, team_id, name, type_, *rest in rows.iterator(chunk_size=_CHUNK):
        if zone_id not in visibilities:
            visibilities[zone_id] = visibility_of(actor, Zone(pk=zone_id, name=zone_name, tags=tags, team_id=team_id))
        visibility = visibilities[zone_id]
        if visibility is None or visibility(name, type_):
            yield zone_name, name, type_, rest


def _zones_to_compare(actor: Actor, pattern: Pattern) -> QuerySet[Zone]:
    """Return visible zones. If they have too many RRsets, return only parents and subzones of the pattern's end.

    Return all visible zones if no index covers the pattern's end.
    """
    zones = zones_visible_to(actor)
    if (zones.aggregate(total=Sum("rrset_count"))["total"] or 0) > MOST_COMPARED:
        below = _zone_name_like(f"%{Pattern(pattern.end).like}")
        if below is not None:
            return zones.filter(Q(below) | Q(name__in=_names_above(pattern.end)))
    return zones


def _zone_name_like(like: str) -> _Like | None:
    """Return a LIKE condition on a zone's name, or None if the panel is large and no index covers the pattern."""
    if is_in_trigrams(like):
        return _Like(Upper("name"), Upper(Value(like)))
    return None if has_many_zones() else _Like(F("name"), Value(like))


def _at_name(actor: Actor, pattern: Pattern) -> Q:
    """Return a condition for RRsets with exactly the pattern's name, in all visible zones that can contain it."""
    found = Q(zone__in=[])
    try:
        name = names.parse(f"{pattern.text}.")
    except BadName:
        return found
    for pk, zone_name in zones_visible_to(actor).filter(name__in=_names_above(name)).values_list("pk", "name"):
        found |= Q(zone=pk, owner_key=relative_key(name, zone_name))
    return found


def _names_above(end: str) -> list[str]:
    """Return the name `end` and all of its parent names, including the root."""
    labels = end.rstrip(".").split(".")
    return [".".join(labels[at:]) + "." for at in range(len(labels))] + [names.ROOT]


def _spellings(text: str) -> list[str]:
    """Return the spellings in which content can be stored: unchanged, lowercase, and as a name with a trailing dot."""
    return sorted({text, text.lower(), f"{text}.", f"{text.lower()}."})
