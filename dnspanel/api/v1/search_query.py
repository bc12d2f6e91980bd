"""What `/search-data` finds: zones by name, records by owner name or content, comments by their text.

A pattern is matched with the whole of a text; `*` stands for any characters, `?` for one, and letter case does not
matter. Without either it is looked up in indexes, however much there is. With them it has to be compared: with all
visible RRsets while these are no more than `MOST_COMPARED`, else with those of the zones above and below the name in
which the pattern ends (for `www*.example.org`, with what `example.org` and its subzones hold). A pattern that leaves
more is refused. Comments have no index, so they are always compared, and refused in the same way.

Names of zones have an index of trigrams. A pattern without three letters or digits in a row would have PostgreSQL read
all of that index, 10 s among 1,000,000 names: it is compared with the names themselves, of a panel that has few.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.db import transaction
from django.db.models import BooleanField, F, Q, QuerySet, Sum, TextField, Value
from django.db.models.expressions import RawSQL
from django.db.models.functions import Upper
from django.db.models.lookups import PostgresOperatorLookup

from dnspanel.accounts.actors import Actor
from dnspanel.api.errors import ApiError
from dnspanel.zones.access import Visibility, visibility_of, zones_visible_to
from dnspanel.zones.models import RRset, Zone
from dnspanel.zones.search.zone_conditions import THREE_IN_A_ROW, has_many_zones, is_in_trigrams
from replication.codec.keys import relative_key
from replication.dns import names
from replication.dns.notes import parse_notes
from replication.errors import BadName

MOST_COMPARED = 200_000  # RRsets; about a second
MOST_WILDCARDS = 8

_CHUNK = 500
_WILDCARD = re.compile(r"[*?]")
_TEXTS = ArrayField(TextField())
_NAMED = '"zones_rrset"."name" LIKE %s'
# In this collation upper() takes half as long, and rdata have no letters but those of ASCII.
_RDATA_FITS = 'upper(t COLLATE "C") LIKE upper(%s) OR upper(t COLLATE "C") LIKE upper(%s)'
_HOLDS = f'EXISTS (SELECT FROM unnest("zones_rrset"."rdata") t WHERE {_RDATA_FITS})'
_MATCHING_RDATA = f'ARRAY(SELECT t FROM unnest("zones_rrset"."rdata") t WHERE {_RDATA_FITS})'
# Several comments of an RRset stand in one text.
_COMMENTS = 'string_to_array("zones_rrset"."comment", \'; \')'
_MATCHING_COMMENTS = f'ARRAY(SELECT t FROM unnest({_COMMENTS}) t WHERE "zones_rrset"."name" LIKE %s OR t ILIKE %s)'


class TooGeneral(ApiError):
    """The pattern could fit more RRsets than a request may be compared with."""

    def __init__(self, text: str, reason: str = "") -> None:
        reason = reason or (
            "could be in too many places to look for it: search for a whole name or value, or let the pattern end in "
            "the name of a zone"
        )
        super().__init__(f"'{text[:100]}' {reason}")


class _Like(PostgresOperatorLookup):
    """`LIKE` with a pattern of our own."""

    lookup_name = "like"
    postgres_operator = "LIKE"


@dataclass(frozen=True, slots=True)
class Pattern:
    """What is searched for, without a final dot."""

    text: str

    @property
    def is_exact(self) -> bool:
        """Whether it stands for one text only."""
        return _WILDCARD.search(self.text) is None

    @property
    def like(self) -> str:
        """As PostgreSQL's LIKE has it."""
        return re.sub(r"([\\%_])", r"\\\1", self.text).replace("*", "%").replace("?", "_")

    @property
    def like_name(self) -> str:
        """The same for names, which are in lower case and end in a dot."""
        return f"{self.like.lower()}."

    @property
    def end(self) -> str:
        """How every name ends that fits."""
        return f"{_WILDCARD.split(self.text)[-1].lower()}."


@dataclass(frozen=True, slots=True)
class FoundRecord:
    """One record of an RRset."""

    zone_name: str
    name: str
    type: int
    ttl: int
    rdata: str
    disabled: bool
    spelling: str = ""  # how a client wrote it, where that is not how it would be shown


@dataclass(frozen=True, slots=True)
class FoundComment:
    """One comment on an RRset."""

    zone_name: str
    name: str
    type: int
    text: str


def pattern_of(text: str) -> Pattern:
    """The pattern that a client wrote. Raises TooGeneral for one with many wildcards: each is tried at each place."""
    pattern = Pattern(re.sub(r"\*+", "*", text).removesuffix("."))
    if len(_WILDCARD.findall(pattern.text)) > MOST_WILDCARDS:
        raise TooGeneral(pattern.text, f"has more than {MOST_WILDCARDS} wildcards")
    return pattern


def find_zones(actor: Actor, pattern: Pattern, limit: int) -> list[str]:
    """Names of visible zones."""
    zones = zones_visible_to(actor)
    if pattern.is_exact:
        zones = zones.filter(name=f"{pattern.text.lower()}.")
    elif pattern.text != "*":
        fitting = _zone_name_like(pattern.like_name)
        if fitting is None:
            raise TooGeneral(pattern.text, f"is too general among so many zones: {THREE_IN_A_ROW}")
        zones = zones.filter(fitting)
    return list(zones.order_by("name").values_list("name", flat=True)[:limit])


def find_records(actor: Actor, pattern: Pattern, limit: int) -> list[FoundRecord]:
    """Records that the actor sees, at names that fit or with content that does. Raises TooGeneral."""
    likes = [pattern.like, f"{pattern.like}."]
    named = RawSQL(_NAMED, [pattern.like_name], output_field=BooleanField())
    if pattern.is_exact:
        spellings = _spellings(pattern.text)
        in_capitals = Q(folded__overlap=spellings, folded__isnull=False)
        fitting = _at_name(actor, pattern) | Q(rdata__overlap=spellings) | in_capitals
        zones: Any = zones_visible_to(actor)
    else:
        fitting = Q(named) | Q(RawSQL(_HOLDS, likes, output_field=BooleanField()))
        zones = _ids(_zones_to_compare(actor, pattern))
    rrsets = RRset.objects.filter(fitting, zone__in=zones)
    rrsets = rrsets.annotate(named=named, held=RawSQL(_MATCHING_RDATA, likes, output_field=_TEXTS))
    with transaction.atomic(savepoint=False):  # or the database would collect all rows before it gives the first
        rows = _seen(actor, rrsets, "ttl", "rdata", "disabled", "notes", "named", "held")
        return sorted(islice(_records(rows), limit), key=lambda found: (found.zone_name, found.name, found.type))


def find_comments(actor: Actor, pattern: Pattern, limit: int) -> list[FoundComment]:
    """Comments on RRsets that the actor sees, at names that fit or with text that does. Raises TooGeneral."""
    zones = zones_visible_to(actor)
    if _rrset_count(zones) > MOST_COMPARED:
        raise TooGeneral(pattern.text)
    rrsets = RRset.objects.filter(zone__in=_ids(zones)).exclude(comment="")
    rrsets = rrsets.annotate(
        matching_comments=RawSQL(_MATCHING_COMMENTS, [pattern.like_name, pattern.like], output_field=_TEXTS)
    ).filter(matching_comments__len__gt=0)
    with transaction.atomic(savepoint=False):
        rows = _seen(actor, rrsets, "matching_comments")
        comments = (FoundComment(zone, name, type, text) for zone, name, type, (found,) in rows for text in found)
        return sorted(islice(comments, limit), key=lambda found: (found.zone_name, found.name, found.type))


def _records(rows: Iterator[tuple[str, str, int, Any]]) -> Iterator[FoundRecord]:
    """Every record where the name fits, else those whose content does."""
    for zone_name, name, type_, (ttl, texts, disabled, notes, named, matching) in rows:
        spellings = dict(parse_notes(notes).spellings)
        for text in texts if named else matching:
            yield FoundRecord(zone_name, name, type_, ttl, text, text in disabled, spellings.get(text, ""))


def _seen(actor: Actor, rrsets: QuerySet[RRset], *columns: str) -> Iterator[tuple[str, str, int, Any]]:
    """Zone name, owner name, type and these columns of the RRsets that the actor sees."""
    visibilities: dict[int, Visibility | None] = {}
    rows = rrsets.values_list("zone_id", "zone__name", "zone__tags", "zone__team_id", "name", "type", *columns)
    for zone_id, zone_name, tags, team_id, name, type_, *rest in rows.iterator(chunk_size=_CHUNK):
        if zone_id not in visibilities:
            visibilities[zone_id] = visibility_of(actor, Zone(pk=zone_id, name=zone_name, tags=tags, team_id=team_id))
        visibility = visibilities[zone_id]
        if visibility is None or visibility(name, type_):
            yield zone_name, name, type_, rest


def _zones_to_compare(actor: Actor, pattern: Pattern) -> QuerySet[Zone]:
    """The zones all of whose RRsets are compared with the pattern; raises TooGeneral."""
    zones = zones_visible_to(actor)
    if _rrset_count(zones) > MOST_COMPARED:
        below = _zone_name_like(f"%{Pattern(pattern.end).like}")
        if below is None:
            raise TooGeneral(pattern.text)
        zones = zones.filter(Q(below) | Q(name__in=_names_above(pattern.end)))
        if _rrset_count(zones) > MOST_COMPARED:
            raise TooGeneral(pattern.text)
    return zones


def _ids(zones: QuerySet[Zone]) -> list[int]:
    """The zones by their ids. Told a condition instead, PostgreSQL may compare all RRsets before it looks at zones."""
    return list(zones.values_list("pk", flat=True))


def _zone_name_like(like: str) -> _Like | None:
    """The condition that a zone's name fits; None for one that no index serves, in a large panel."""
    if is_in_trigrams(like):
        return _Like(Upper("name"), Upper(Value(like)))
    return None if has_many_zones() else _Like(F("name"), Value(like))


def _rrset_count(zones: QuerySet[Zone]) -> int:
    return zones.aggregate(total=Sum("rrset_count"))["total"] or 0


def _at_name(actor: Actor, pattern: Pattern) -> Q:
    """RRsets whose owner has exactly the pattern's name, in whichever visible zones it can be."""
    found = Q(zone__in=[])
    try:
        name = names.parse(f"{pattern.text}.")
    except BadName:
        return found
    for pk, zone_name in zones_visible_to(actor).filter(name__in=_names_above(name)).values_list("pk", "name"):
        found |= Q(zone=pk, owner_key=relative_key(name, zone_name))
    return found


def _names_above(end: str) -> list[str]:
    """The name, as far as `end` is one, and every name above it."""
    labels = end.rstrip(".").split(".")
    return [".".join(labels[at:]) + "." for at in range(len(labels))] + [names.ROOT]


def _spellings(text: str) -> list[str]:
    """How a content may be stored: as it is, in lower case, or as a name with its final dot."""
    return sorted({text, text.lower(), f"{text}.", f"{text.lower()}."})
