"""Create many zones with prepared content, in few statements. Verbs."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from django.db import IntegrityError, connection, transaction

from dnspanel.accounts.actors.actors import Author, user_of
from dnspanel.accounts.models import Team
from dnspanel.advisory_locks import Lock, SqlLock, lock_until_commit
from dnspanel.database.sql import execute, fetch_all
from dnspanel.zones.acting import Acting
from dnspanel.zones.errors import KeptBack, Locked, NameRefused, NameReserved, NamesRefused, NamesTaken
from dnspanel.zones.governance.publish_guards import reasons_over
from dnspanel.zones.governance.publish_hooks import after_hooks
from dnspanel.zones.log.sequence_log import NewRevision, append_publication
from dnspanel.zones.models import Publication, RevisionKind, Zone
from dnspanel.zones.names import nesting
from dnspanel.zones.plan import zone_quotas
from dnspanel.zones.store import store_rrsets
from dnspanel.zones.store.analyze_tables import analyze_if_grown
from dnspanel.zones.store.last_serials import raise_serials
from dnspanel.zones.values.natural_order import natural_text
from replication.dns import names

InTransaction = Callable[[Publication], object]
# Gets the publication, and the ids of zones whose first serial had to be raised.
InCreation = Callable[[Publication, Sequence[int]], object]


# The name of the zone in which each node stores its position in the log.
RESERVED = "position.dnspanel.invalid."

# Names are passed as one array, because Django checks each parameter several times. They are looked up one by one,
# because PostgreSQL would scan the whole table for an `ANY` with hundreds of names.
_EXISTING = """
SELECT z.name, z.id, z.revision, z.serial FROM unnest(%s::text[]) AS wanted (name)
CROSS JOIN LATERAL (SELECT * FROM zones_zone WHERE deleted_at IS NULL AND name = wanted.name LIMIT 1) AS z"""

# One call at a time, so that the ids of a call are consecutive: LMDB orders rows by zone id, and an import's rows are
# written fastest without others between them.
_ALLOCATE = f"""
WITH alone AS MATERIALIZED (
    SELECT pg_get_serial_sequence('zones_zone', 'id')::regclass AS ids, {SqlLock.ZONE_IDS.until_commit}
)
SELECT nextval(ids) FROM alone, generate_series(1, %s)"""

_COPY_ZONES = """
COPY zones_zone (id, name, sort_name, serial, revision, rrset_count, created_at, changed_at, changed_by_id,
    created_by_id, sequence, team_id) FROM STDIN"""


@dataclass(frozen=True, slots=True)
class BulkZone:
    """A zone to create: its id (from `allocate_zone_ids`), name, SOA serial, and number of RRsets."""

    id: int
    name: str
    serial: int
    rrset_count: int


@dataclass(frozen=True, slots=True)
class ExistingZone:
    id: int
    revision: int
    serial: int


def nothing(*what: object) -> None:
    """Do nothing. This is the default for `in_transaction`."""


def existing_zones(zone_names: Collection[str]) -> dict[str, ExistingZone]:
    """Return the existing zones with these names, keyed by name. Needs one query."""
    return {name: ExistingZone(*row) for name, *row in fetch_all(_EXISTING, [list(zone_names)])}


def allocate_zone_ids(count: int) -> list[int]:
    """Allocate zone ids that are never used for other zones. Return them in ascending order."""
    return sorted(id for (id,) in fetch_all(_ALLOCATE, [count]))


@after_hooks
def create_ready_zones(  # zones, and what happens with them
    *,
    zones: Sequence[BulkZone],
    rows: Callable[[], Iterable[bytes]],
    acting: Acting,
    team: Team | None = None,
    in_transaction: InCreation = nothing,
    signed: Collection[str] = (),
) -> Publication:
    """Create zones at revision 1 in one publication. If any zone fails, create none.

    `rows` returns the RRsets in the format of `copy_rows`. `in_transaction` must sign the zones in `signed`, and gets
    the ids of zones whose serials were raised (see `insert_zones`). Raise NamesTaken with all names that already have a
    zone. Raise NamesRefused with all names that the author isn't allowed to have (see `nesting`). Also raise
    NameReserved, QuotaExceeded, HookRefused, or IntegrityError for rows that the database rejects.
    """
    try:
        with transaction.atomic(durable=True):
            # Two at once would compete for the same index pages and take longer than one after the other. Edits in
            # between would wait for both.
            lock_until_commit(Lock.CREATION)
            refuse_new_zones(zones=zones, author=acting.author, team=team)
            new = insert_zones(zones=zones, rows=rows(), author=acting.author, now=acting.now, team=team)
            own = [zone.id for zone in zones]
            nesting.refuse_names(zone_names=[z.name for z in zones], own=own, author=acting.author, signed=signed)
            try:
                publication = append_publication(revisions=creations(new), acting=acting)
            except (KeptBack, Locked):
                _refuse_over(zones, acting.author, acting.reason, acting.now)
                raise
            moved = [one.id for one, given in zip(new, zones, strict=True) if one.serial != given.serial]
            in_transaction(publication, moved)
            nesting.refuse_broken(zone_names=signed)
    except IntegrityError as clash:
        if taken := taken_names([zone.name for zone in zones]):
            raise NamesTaken(taken) from clash
        raise
    analyze_if_grown()
    return publication


def _refuse_over(zones: Sequence[BulkZone], author: Author, reason: str, now: datetime) -> None:
    """Raise NamesRefused with all new zones that the author can't create because of a rule for a zone above."""
    coming = [Zone(pk=zone.id, name=zone.name) for zone in zones]
    kept = reasons_over(coming, author=author, reason=reason, now=now)
    if kept:
        raise NamesRefused({name: NameRefused(name, reason_against) for name, reason_against in kept.items()})


def refuse_new_zones(*, zones: Sequence[BulkZone], author: Author, team: Team | None) -> None:
    """Raise QuotaExceeded if the zones exceed the author's or the team's quota, in number or in one zone's size."""
    zone_quotas.refuse_zones(author, team, len(zones))
    zone_quotas.refuse_rrsets(author, team, ((zone.name, zone.rrset_count) for zone in zones))


def insert_zones(
    *, zones: Sequence[BulkZone], rows: Iterable[bytes], author: Author, now: datetime, team: Team | None = None
) -> list[BulkZone]:
    """Write zones and their RRsets to the tables. Return the zones with their first serials.

    If a zone with the same name was deleted, the first serial is above its last serial, except with imported signatures
    (`raise_serials`). `append_publication` must follow in the same transaction. Raise NameReserved for a reserved name.
    """
    for zone in zones:
        if names.is_within(zone.name, RESERVED):
            raise NameReserved(zone.name)
    user = user_of(author)
    by = r"\N" if user is None else str(user.pk)
    of_team = r"\N" if team is None else str(team.pk)
    end = f"{now.isoformat()}\t{now.isoformat()}\t{by}\t{by}\t0\t{of_team}\n"
    lines = (f"{z.id}\t{_copied_names(z.name)}\t{z.serial}\t0\t{z.rrset_count}\t{end}" for z in zones)
    with connection.wrap_database_errors, connection.cursor() as cursor:
        prefer_indexes()
        with cursor.copy(_COPY_ZONES) as copy:
            copy.write("".join(lines).encode())
    found, expected = store_rrsets.copy_in(rows), sum(zone.rrset_count for zone in zones)
    if found != expected:
        raise ValueError(f"{found} RRsets came for {len(zones)} zones that have {expected}")
    moved = raise_serials(zones={zone.name: (zone.id, zone.serial) for zone in zones})
    if not moved:
        return list(zones)
    return [replace(zone, serial=moved[zone.id].value) if zone.id in moved else zone for zone in zones]


def _copied_names(name: str) -> str:
    """Format a zone's name and its sort key for COPY."""
    return f"{store_rrsets.copy_text(name)}\t{store_rrsets.copy_text(natural_text(name))}"


def creations(zones: Iterable[BulkZone], kind: RevisionKind = RevisionKind.CREATE) -> list[NewRevision]:
    """Return the first revision of each new zone."""
    return [
        NewRevision(zone.id, zone.name, kind, 1, zone.serial, zone.rrset_count, added=zone.rrset_count)
        for zone in zones
    ]


def taken_names(names: Sequence[str]) -> list[str]:
    """Return the names that already have a zone or occur twice, in order."""
    taken: dict[str, None] = {}
    seen = set(existing_zones(names))
    for name in names:
        if name in seen:
            taken[name] = None
        seen.add(name)
    return list(taken)


def prefer_indexes() -> None:
    """Disable sequential table scans until the end of the transaction.

    For a thousand ids, PostgreSQL may choose a scan, because its statistics may not include the last batch.
    """
    execute("SET LOCAL enable_seqscan = off")
