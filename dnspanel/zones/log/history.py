"""Read a zone's history: its revisions, their changes, and the zone's RRsets at any revision."""

import heapq
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

from django.db.models import Exists, OuterRef, Q

from dnspanel.accounts.actors.actors import token_form_of
from dnspanel.accounts.actors.find_people import has_username
from dnspanel.accounts.models import Token
from dnspanel.database.field_copies import copy_fields, values_of
from dnspanel.database.prepared_statements import prepared_cursor
from dnspanel.zones.models import Change as StoredChange
from dnspanel.zones.models import Revision, Zone
from dnspanel.zones.models import RRset as StoredRRset
from dnspanel.zones.store.store_rrsets import rrset_of
from dnspanel.zones.store.stored_changes import change_of, rrset_before
from dnspanel.zones.values import soa
from replication.codec.keys import relative_key
from replication.dns.rrset import Change, RRset

Mark = Literal["added", "changed", "deleted"]


@dataclass(frozen=True, slots=True)
class RecordDiff:
    """One record of a diff: its sign ("+", "-" or " "), its rdata, and whether it is disabled."""

    sign: Literal["+", "-", " "]
    rdata: str
    disabled: bool


@dataclass(frozen=True, slots=True)
class RRsetDiff:
    """The difference between two states of an RRset, record by record."""

    change: Change
    mark: Mark
    records: tuple[RecordDiff, ...]
    ttl_changed: bool
    comment_changed: bool


@dataclass(frozen=True, slots=True)
class HistoryRow:
    revision_id: int
    number: int
    at: datetime
    author: str  # `Publication.by`
    username: str
    channel: str
    kind: str
    serial: int
    added: int
    changed: int
    removed: int
    reason: str
    sequence: int
    failed_reason: str  # why the publication was reverted
    token: Token | None  # that published the revision

    @property
    def token_id(self) -> int | None:
        """The id of the token that published the revision, or None if no token did."""
        return self.token.pk if self.token else None


@dataclass(frozen=True, slots=True)
class HistoryFilters:
    """Filters for revisions: author, channel, time (`since` inclusive, `until` exclusive), and changed owner name."""

    author: str = ""
    channel: str = ""
    since: datetime | None = None
    until: datetime | None = None
    name: str = ""


EVERY_REVISION = HistoryFilters()


def diff(change: Change) -> RRsetDiff:
    """Return the difference between an RRset before and after a change. The RRset must exist before or after it."""
    before, after = change.before, change.after
    assert before is not None or after is not None
    mark: Mark = "added" if before is None else "deleted" if after is None else "changed"
    return RRsetDiff(
        change=change,
        mark=mark,
        records=tuple(_record_diffs(before, after)),
        ttl_changed=before is not None and after is not None and before.ttl != after.ttl,
        comment_changed=before is not None and after is not None and before.comment != after.comment,
    )


def _record_diffs(before: RRset | None, after: RRset | None) -> Iterator[RecordDiff]:
    """Yield deleted and unchanged records, then new records.

    A record that was only disabled or enabled is yielded twice, as deleted and as new.
    """
    was, will = _records(before), _records(after)
    for text, disabled in was:
        yield RecordDiff(" " if (text, disabled) in will else "-", text, disabled)
    for text, disabled in will:
        if (text, disabled) not in was:
            yield RecordDiff("+", text, disabled)


def _records(rrset: RRset | None) -> dict[tuple[str, bool], None]:
    return {} if rrset is None else dict.fromkeys((text, text in rrset.disabled) for text in rrset.rdata)


def revisions_below(
    zone: Zone, before: int | None, limit: int, filters: HistoryFilters = EVERY_REVISION, down_to: int = 1
) -> list[HistoryRow]:
    """Return the newest matching revisions with numbers from `down_to` to just below `before` (None: no bound)."""
    people = ("publication__author", "publication__token")
    revisions = Revision.objects.filter(zone=zone, number__gte=down_to).select_related(*people).order_by("-number")
    if before is not None:
        revisions = revisions.filter(number__lt=before)
    return [history_row(revision) for revision in revisions.filter(_passing(zone, filters))[:limit]]


def _passing(zone: Zone, filters: HistoryFilters) -> Q:
    passing = Q()
    if filters.author:
        passing &= has_username(filters.author, "publication__author__")
    if filters.channel:
        passing &= Q(publication__channel=filters.channel)
    if filters.since is not None:
        passing &= Q(publication__at__gte=filters.since)
    if filters.until is not None:
        passing &= Q(publication__at__lt=filters.until)
    if filters.name:
        key = relative_key(filters.name, zone.name)
        passing &= Q(Exists(StoredChange.objects.filter(revision=OuterRef("pk"), owner_key=key)))
    return passing


def revision_changes(*, revision: Revision) -> tuple[Change, ...]:
    """Return the revision's changes in canonical order. An SOA change is omitted if only the serial changed."""
    changes = map(change_of, revision.changes.order_by("owner_key", "type"))
    return tuple(change for change in changes if not soa.same(change.before, change.after))


def rrset_history(*, zone: Zone, name: str, type: int, limit: int = 50) -> tuple[tuple[HistoryRow, RRsetDiff], ...]:
    """Return an RRset's history, newest change first."""
    rows = StoredChange.objects.filter(revision__zone=zone, owner_key=relative_key(name, zone.name), type=type)
    people = ("revision__publication__author", "revision__publication__token")
    newest = rows.select_related(*people).order_by("-revision__number")[:limit]
    return tuple((history_row(row.revision), diff(change_of(row))) for row in newest)


def revisions_numbered(*, zone: Zone, numbers: Collection[int]) -> dict[int, HistoryRow]:
    """Return the zone's revisions with these numbers, keyed by number. Makes one query."""
    people = ("publication__author", "publication__token")
    found = Revision.objects.filter(zone=zone, number__in=set(numbers)).select_related(*people)
    return {revision.number: history_row(revision) for revision in found}


def first_number_since(zone: Zone, since: datetime) -> int:
    """Return the number of the zone's first revision since this time, or of the next revision if there is none yet.

    One query reads the zone's revisions along their index, from the newest to the first older one.
    """
    older = Revision.objects.filter(zone=zone, publication__at__lt=since).order_by("-number")
    return (older.values_list("number", flat=True).first() or 0) + 1


def rrsets_at(*, zone: Zone, number: int) -> Iterator[RRset]:
    """Yield every RRset of the zone at this revision, in canonical order.

    An RRset that changed later is the `before` of its oldest later change. Any other RRset is the current one.
    """
    since = StoredChange.objects.filter(revision__zone=zone, revision__number__gt=number)
    oldest = since.order_by("owner_key", "type", "revision__number").distinct("owner_key", "type")
    then = {(bytes(change.owner_key), change.type): rrset_before(change) for change in oldest}
    stored = StoredRRset.objects.filter(zone=zone).order_by("owner_key", "type").iterator()
    unchanged = (
        ((bytes(row.owner_key), row.type), rrset_of(row))
        for row in stored
        if (bytes(row.owner_key), row.type) not in then
    )
    changed = [(key, rrset) for key, rrset in sorted(then.items(), key=lambda item: item[0]) if rrset is not None]
    for _, rrset in heapq.merge(unchanged, changed, key=lambda item: item[0]):
        yield rrset


_TOKENS = """
SELECT publication.sequence, token.id, token.prefix, token.purpose FROM unnest(%s::bigint[]) AS wanted (sequence)
CROSS JOIN LATERAL (SELECT * FROM zones_publication WHERE sequence = wanted.sequence LIMIT 1) AS publication
JOIN accounts_token token ON token.id = publication.token_id
"""


def tokens_of_publications(sequences: Collection[int]) -> dict[int, dict[str, Any]]:
    """Return the tokens that created these publications, keyed by sequence, in the format of `token_form`.

    Publications that weren't created by a token are omitted.
    """
    with prepared_cursor() as cursor:
        cursor.execute(_TOKENS, [list(set(sequences))])
        return {sequence: token_form_of(*token) for sequence, *token in cursor.fetchall()}


def history_row(revision: Revision) -> HistoryRow:
    """Return a revision as a list row. Its publication, author and token must be loaded."""
    publication = revision.publication
    return copy_fields(
        HistoryRow,
        revision,
        revision_id=revision.pk,
        author=publication.by,
        username=publication.author.username if publication.author else "",
        **values_of(publication, ("at", "channel", "reason", "sequence", "failed_reason", "token")),
    )
