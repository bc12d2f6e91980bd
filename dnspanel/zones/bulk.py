"""Many zones in one publication: create, change, delete, and take back what a publication changed. Verbs.

Every verb is one transaction and one sequence, and says what it reads and
writes in sets: the number of queries does not depend on the number of zones.
`beside` runs inside that transaction once the sequence is known, so that
whoever calls can record the sequence together with what it published.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import IntegrityError, connection, transaction

from dnspanel.accounts.actors import Author, user_of
from dnspanel.accounts.models import Team
from dnspanel.advisory_locks import SqlLock
from dnspanel.zones import soa, store_rrsets
from dnspanel.zones.errors import NameReserved, NamesTaken
from dnspanel.zones.guard import refuse_mass_deletion
from dnspanel.zones.history import rrset_after, rrset_before
from dnspanel.zones.models import Change, Operation, Publication, RevisionKind, Zone
from dnspanel.zones.sequence_log import NewChange, NewRevision, append_publication
from dnspanel.zones.store_rrsets import Key
from dnspanel.zones.store_rrsets import copy_rows as copy_rows
from dnspanel.zones.store_rrsets import rrsets_of_zones as rrsets_of_zones
from replication.dns import names, rdtypes
from replication.dns.rrset import RRset

# Where each node keeps its position; PDNS-LMDB's sentinel zone.
RESERVED = "position.dnspanel.invalid."

Beside = Callable[[Publication], object]
Changes = Mapping[Key, RRset | None]

# One call at a time, so that its ids have none of another's between them: rows of LMDB lie by zone id, and those of an
# import are put fastest where nothing else lies between them.
_ALLOCATE = f"""
WITH alone AS MATERIALIZED (
    SELECT pg_get_serial_sequence('zones_zone', 'id')::regclass AS ids, {SqlLock.ZONE_IDS.until_commit}
)
SELECT nextval(ids) FROM alone, generate_series(1, %s)"""

_COPY_ZONES = """
COPY zones_zone (id, name, serial, revision, rrset_count, created_at, changed_at, changed_by_id, sequence, team_id)
FROM STDIN"""


@dataclass(frozen=True, slots=True)
class BulkZone:
    """A zone to be created: its id from `allocate_zone_ids`, the serial of its SOA, how many RRsets it has."""

    id: int
    name: str
    serial: int
    rrset_count: int


@dataclass(frozen=True, slots=True)
class ExistingZone:
    """Of a zone that is there, what a plan of its change has to remember."""

    id: int
    revision: int
    serial: int


@dataclass(frozen=True, slots=True)
class ZoneChange:
    """What is to become of some RRsets of a zone (None: gone), decided when the zone was at `base_revision`."""

    zone_id: int
    base_revision: int
    changes: Changes


@dataclass(frozen=True, slots=True)
class _Move:
    """One zone's next revision: which of its RRsets change (before, after), and its SOA, whose serial always does."""

    zone: Zone
    changes: Sequence[tuple[Key, RRset | None, RRset | None]]
    soa_before: RRset
    soa_after: RRset

    def new_changes(self) -> Iterator[NewChange]:
        zone, apex = self.zone, (self.zone.name, rdtypes.SOA)
        for key, before, after in (*self.changes, (apex, self.soa_before, self.soa_after)):
            yield NewChange(zone.pk, zone.name, *key, before, after)

    def revision(self) -> NewRevision:
        added = sum(before is None for _, before, _ in self.changes)
        removed = sum(after is None for _, _, after in self.changes)
        soa_changed = not soa.same(self.soa_before, self.soa_after)
        return NewRevision(
            zone_id=self.zone.pk,
            kind=RevisionKind.CHANGE,
            number=self.zone.revision + 1,
            serial=soa.serial_of(self.soa_after).value,
            rrset_count=self.zone.rrset_count + added - removed,
            added=added,
            changed=len(self.changes) - added - removed + soa_changed,
            removed=removed,
        )


@dataclass(frozen=True, slots=True)
class _Published:
    """What one publication changed in one zone, besides the serial: {(name, type): (before, after)}."""

    name: str
    changes: dict[Key, tuple[RRset | None, RRset | None]]

    def taken_back(self, there: Mapping[Key, RRset]) -> tuple[dict[Key, RRset | None], list[Key]]:
        """What takes it back, and the keys at which that is not possible any more. `there` has all at their names."""
        back: dict[Key, RRset | None] = {}
        stay = []
        for key, (before, after) in self.changes.items():
            if soa.same(there.get(key), before):
                continue
            if soa.same(there.get(key), after):
                back[key] = before
            else:
                stay.append(key)
        crowded = _names_with_cname_and_more({**there, **back})
        stay += [key for key in back if key[0] in crowded]
        return {key: rrset for key, rrset in back.items() if key[0] not in crowded}, stay


def nothing(publication: Publication) -> None:
    """What runs beside a publication unless the caller has something."""


def existing_zones(zone_names: Collection[str]) -> dict[str, ExistingZone]:
    """Those of these names that have a zone, in one query."""
    alive = Zone.objects.filter(name__in=list(zone_names), deleted_at=None)
    found = alive.values_list("name", "id", "revision", "serial")
    return {name: ExistingZone(id, revision, serial) for name, id, revision, serial in found}


def allocate_zone_ids(count: int) -> list[int]:
    """Ids that no other zone has or will have, ascending and in a row."""
    with connection.cursor() as cursor:
        cursor.execute(_ALLOCATE, [count])
        return sorted(id for (id,) in cursor.fetchall())


def create_ready_zones(
    *,
    zones: Sequence[BulkZone],
    rows: Iterable[bytes],
    author: Author,
    channel: str,
    now: datetime,
    reason: str = "",
    team: Team | None = None,
    beside: Beside = nothing,
) -> Publication:
    """These zones exist with the RRsets in `rows` (of `copy_rows`), each at revision 1, in one publication.

    Or none does: raises NamesTaken with all names that have a zone,
    NameReserved, or IntegrityError for rows that the database refuses.
    """
    try:
        with transaction.atomic(durable=True):
            insert_zones(zones=zones, rows=rows, author=author, now=now, team=team)
            publication = append_publication(
                revisions=creations(zones), author=author, channel=channel, now=now, reason=reason, form_id=None
            )
            beside(publication)
            return publication
    except IntegrityError as clash:
        if taken := taken_names([zone.name for zone in zones]):
            raise NamesTaken(taken) from clash
        raise


def insert_zones(
    *, zones: Sequence[BulkZone], rows: Iterable[bytes], author: Author, now: datetime, team: Team | None = None
) -> None:
    """Zones and their RRsets stand in their tables; `append_publication` must follow in the same transaction."""
    for zone in zones:
        if names.is_within(zone.name, RESERVED):
            raise NameReserved(zone.name)
    user = user_of(author)
    by = r"\N" if user is None else str(user.pk)
    of_team = r"\N" if team is None else str(team.pk)
    end = f"{now.isoformat()}\t{now.isoformat()}\t{by}\t0\t{of_team}\n"
    lines = (f"{z.id}\t{store_rrsets.copy_text(z.name)}\t{z.serial}\t0\t{z.rrset_count}\t{end}" for z in zones)
    with connection.wrap_database_errors, connection.cursor() as cursor:
        prefer_indexes()
        with cursor.copy(_COPY_ZONES) as copy:
            copy.write("".join(lines).encode())
    found, said = store_rrsets.copy_in(rows), sum(zone.rrset_count for zone in zones)
    if found != said:
        raise ValueError(f"{found} RRsets came for {len(zones)} zones that have {said}")


def creations(zones: Iterable[BulkZone]) -> list[NewRevision]:
    """The first revision of each new zone."""
    return [
        NewRevision(z.id, RevisionKind.CREATE, 1, z.serial, z.rrset_count, added=z.rrset_count) for z in zones
    ]  # fmt: skip


def taken_names(wanted: Sequence[str]) -> list[str]:
    """Those of the names that have a zone, and those that are wanted twice; in their order."""
    taken: dict[str, None] = {}
    seen = set(existing_zones(wanted))
    for name in wanted:
        if name in seen:
            taken[name] = None
        seen.add(name)
    return list(taken)


def change_zones(
    *,
    changes: Sequence[ZoneChange],
    author: Author,
    channel: str,
    now: datetime,
    reason: str = "",
    beside: Beside = nothing,
) -> tuple[Publication | None, list[int]]:
    """The zones have these changes, each in a revision of its own, all in one publication (None: nothing to do).

    Returned besides are the ids of zones that were left alone, because they
    are gone or not at their base revision any more. RRsets that are as wanted
    already are not touched; a zone without any other gets no revision. Each
    SOA has a higher serial than before: that of the wanted SOA if it is one.
    A zone never loses its SOA. Raises IntegrityError for what the database
    refuses: rules are the caller's.
    """
    by_zone = {change.zone_id: change for change in changes}
    with transaction.atomic(durable=True):
        prefer_indexes()
        locked = _locked(by_zone)
        zones = {id: zone for id, zone in locked.items() if zone.revision == by_zone[id].base_revision}
        wanted = {id: by_zone[id].changes for id in zones}
        moves = _moves(zones, _at_names(zones, wanted), wanted)
        publication = _carry_out(moves, author, channel, now, reason, beside)
    return publication, [id for id in by_zone if id not in zones]


def delete_zones(
    *,
    zones: Sequence[tuple[int, int]],
    author: Author,
    channel: str,
    now: datetime,
    reason: str = "",
    beside: Beside = nothing,
    confirmed: bool = False,
) -> tuple[Publication | None, list[int]]:
    """The zones (id, expected revision) are in the trash, in one publication (None: there was nothing to do).

    Returned besides are the ids of those left alone: gone, or at another
    revision. Drafts forget their operations on deleted zones. Raises
    MassDeletion for too many zones unless a person `confirmed` it.
    """
    expected = dict(zones)
    with transaction.atomic(durable=True):
        if not confirmed:
            refuse_mass_deletion(author=author, count=len(expected), now=now)
        prefer_indexes()
        there = {id: zone for id, zone in _locked(expected).items() if zone.revision == expected[id]}
        publication = None
        if there:
            Operation.objects.filter(zone__in=list(there)).delete()
            Zone.objects.filter(pk__in=list(there)).update(deleted_at=now)
            revisions = [
                NewRevision(z.pk, RevisionKind.DELETE, z.revision + 1, z.serial, z.rrset_count) for z in there.values()
            ]
            publication = append_publication(
                revisions=revisions, author=author, channel=channel, now=now, reason=reason, form_id=None
            )
            beside(publication)
    return publication, [id for id in expected if id not in there]


def undo_zone_changes(
    *,
    sequence: int,
    author: Author,
    channel: str,
    now: datetime,
    reason: str = "",
    beside: Beside = nothing,
) -> tuple[Publication | None, list[tuple[str, str, int]]]:
    """What publication `sequence` changed is as it was before, wherever nobody changed it since; in one publication.

    Returned besides are the RRsets (zone name, name, type) that were kept:
    those that are not any more what that publication left, those at names
    where taking back would put a CNAME beside other data, and all those of
    zones in the trash. An RRset that is already as it was before is not touched,
    so undoing twice changes nothing. Zones that it created or deleted are
    not looked at.
    """
    with transaction.atomic(durable=True):
        prefer_indexes()
        published = _published_by(sequence)
        zones = _locked(published)
        there = _at_names(zones, {id: published[id].changes for id in zones})
        wanted: dict[int, Changes] = {}
        kept: list[tuple[str, str, int]] = []
        for id, of_zone in published.items():
            back, stay = of_zone.taken_back(there[id]) if id in zones else ({}, list(of_zone.changes))
            wanted[id] = back
            kept += [(of_zone.name, *key) for key in stay]
        moves = _moves(zones, there, {id: wanted[id] for id in zones})
        publication = _carry_out(moves, author, channel, now, reason, beside)
    return publication, kept


def prefer_indexes() -> None:
    """Until the end of the transaction, nothing is looked up by reading a whole table.

    With a thousand ids in one query PostgreSQL may take that for the faster
    way, and from statistics older than the last batch it cannot know better.
    """
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")


def _locked(zone_ids: Iterable[int]) -> dict[int, Zone]:
    """These zones, without deleted ones, locked in the order of their ids, so that no two publishers deadlock."""
    alive = Zone.objects.filter(pk__in=list(zone_ids), deleted_at=None)
    return {zone.pk: zone for zone in alive.select_for_update(no_key=True).order_by("pk")}


def _at_names(zones: Mapping[int, Zone], keys: Mapping[int, Iterable[Key]]) -> dict[int, dict[Key, RRset]]:
    """Per zone, every RRset at its apex and at the names of these keys."""
    return store_rrsets.rrsets_at_names(
        {id: (zone.name, {zone.name, *(name for name, _ in keys[id])}) for id, zone in zones.items()}
    )


def _moves(
    zones: Mapping[int, Zone], there: Mapping[int, Mapping[Key, RRset]], wanted: Mapping[int, Changes]
) -> list[_Move]:
    """The next revision of each zone in which something of what is wanted is not so yet."""
    moves = []
    for id, changes in wanted.items():
        zone, now_there = zones[id], there[id]
        apex = zone.name, rdtypes.SOA
        before, after = now_there[apex], changes.get(apex) or now_there[apex]
        new_soa = soa.next_soa(before, after)
        assert new_soa is not None
        moving = [
            (key, now_there.get(key), rrset)
            for key, rrset in changes.items()
            if key != apex and now_there.get(key) != rrset
        ]
        if moving or not soa.same(before, after):
            moves.append(_Move(zone, moving, before, new_soa))
    return moves


def _carry_out(
    moves: Sequence[_Move], author: Author, channel: str, now: datetime, reason: str, beside: Beside
) -> Publication | None:
    """Write the RRsets, then append to the log, last; None when there is nothing to do."""
    if not moves:
        return None
    changes = [change for move in moves for change in move.new_changes()]
    gone = [(c.zone_id, c.zone_name, c.name, c.type) for c in changes if c.after is None]
    store_rrsets.delete_rrsets(gone)  # before the rest, or a CNAME would meet what it replaces
    store_rrsets.replace_rrsets([(c.zone_id, c.zone_name, c.after) for c in changes if c.after])
    publication = append_publication(
        revisions=[move.revision() for move in moves],
        changes=changes,
        author=author,
        channel=channel,
        now=now,
        reason=reason,
        form_id=None,
    )
    beside(publication)
    return publication


def _names_with_cname_and_more(rrsets: Mapping[Key, RRset | None]) -> set[str]:
    present = [key for key, rrset in rrsets.items() if rrset is not None]
    aliases = {name for name, type in present if type == rdtypes.CNAME}
    return {name for name, type in present if type != rdtypes.CNAME and name in aliases}


def _published_by(sequence: int) -> dict[int, _Published]:
    """What a publication changed in each zone that was there before and after it, by zone id."""
    rows = Change.objects.filter(revision__publication=sequence, revision__kind=RevisionKind.CHANGE)
    published: dict[int, _Published] = {}
    for change in rows.select_related("revision__zone").order_by("revision__zone_id", "owner_key", "type"):
        zone = change.revision.zone
        of_zone = published.setdefault(zone.pk, _Published(zone.name, {}))
        before, after = rrset_before(change), rrset_after(change)
        if not soa.same(before, after):
            of_zone.changes[change.name, change.type] = before, after
    return published
