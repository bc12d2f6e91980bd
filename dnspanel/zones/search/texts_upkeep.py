"""Update search texts and the sort keys of names after publications. Verbs."""

import logging
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any, TypeVar

from django.db import transaction
from django.db.models import Count

from dnspanel.advisory_locks import Lock, hold_lock
from dnspanel.database.sql import execute, fetch_all
from dnspanel.zones.models import Change, LogHead, Publication, Revision, RevisionKind, SearchProgress, SearchText, Zone
from dnspanel.zones.order import display_order
from dnspanel.zones.store import waiting_entries
from dnspanel.zones.store.store_rrsets import BEHIND_ALL_KEYS

NAMES_OF_BLOCK = 500
ZONES_AT_A_TIME = 1_000
REVISIONS_AT_A_TIME = 2_000
ZONES_OF_A_TURN = 20_000
# During very large publications, the texts wait until these are finished, but at most for _LONGEST_WAIT.
_BUSY_REVISIONS = 200
_BUSY = timedelta(seconds=5)
_LONGEST_WAIT = timedelta(minutes=10)

# One upper bound per block, above all names for the last one. An `or` would read each block to the zone's end.
_WRITE = """
INSERT INTO zones_searchtext (zone_id, first_key, end_key, text, types, ttls, has_comments)
SELECT b.zone_id, b.first_key, b.end_key, E'\\n' || COALESCE(said.text, '') || E'\\n', COALESCE(said.types, '{}'),
    COALESCE(said.ttls, '{}'), COALESCE(said.has_comments, false)
FROM unnest(%s::int[], %s::bytea[], %s::bytea[]) AS b (zone_id, first_key, end_key)
CROSS JOIN LATERAL (
    SELECT string_agg(DISTINCT lines.line COLLATE "C", E'\\n') AS text,
        array_agg(DISTINCT r.type) AS types, array_agg(DISTINCT r.ttl ORDER BY r.ttl) AS ttls,
        bool_or(r.comment <> '' OR r.notes <> '') AS has_comments
    FROM zones_rrset r
    CROSS JOIN LATERAL (
        SELECT r.name UNION ALL SELECT 'type' || r.type UNION ALL SELECT lower(t) FROM unnest(r.rdata) t
        UNION ALL SELECT name_displayed(r.name) WHERE r.name LIKE '%%xn--%%'
        UNION ALL SELECT lower(rrset_said(r.comment, r.notes)) WHERE r.comment <> '' OR r.notes <> ''
        UNION ALL SELECT 'tag:' || t FROM jsonb_array_elements_text(NULLIF(r.notes, '')::jsonb->'tags') t
            WHERE r.notes <> ''
    ) AS lines (line)
    WHERE r.zone_id = b.zone_id AND r.owner_key >= b.first_key
        AND r.owner_key < COALESCE(b.end_key, %s::bytea)
) AS said"""

# Every name in a range after NAMES_OF_BLOCK names, where one block ends and the next begins.
_BORDERS = """
SELECT owner_key FROM (
    SELECT owner_key, row_number() OVER (ORDER BY owner_key) AS n FROM (
        SELECT DISTINCT owner_key FROM zones_rrset
        WHERE zone_id = %(zone)s AND owner_key >= %(first)s AND (%(end)s::bytea IS NULL OR owner_key < %(end)s)
    ) AS owners
) AS numbered WHERE n > 1 AND n %% %(names)s = 1 ORDER BY n"""

Each = TypeVar("Each")
Range = tuple[int, bytes, bytes | None]  # zone, first key, end key

logger = logging.getLogger(__name__)


def catch_up(*, now: datetime) -> int:
    """Write the first search texts of all zones, then update them for new publications. Return the number of zones.

    Stop after ZONES_OF_A_TURN zones. Only one worker updates at a time, and usually none during very large publications
    (`is_busy`). An interrupted turn is repeated.
    """
    written = 0
    with hold_lock(Lock.SEARCH_TEXTS) as is_mine:
        while is_mine and written < ZONES_OF_A_TURN:
            at = SearchProgress.objects.first()
            if is_busy(at.sequence if at else 0, now):
                break
            found = _begin(at) if at is None or at.last_zone is not None else _follow(at.sequence)
            if found is None:
                break
            written += found
        if written:
            waiting_entries.sort_in(waiting_entries.NAMES_AND_TEXTS)
            logger.info("search texts zones=%d", written)
    return written


def is_busy(at: int, now: datetime) -> bool:
    """Return True during very large publications, unless the worker at the sequence `at` is far behind."""
    oldest = Publication.objects.filter(sequence__gt=at).order_by("sequence").values_list("at", flat=True).first()
    if oldest is None or now - oldest > _LONGEST_WAIT:
        return False
    first = Publication.objects.filter(sequence__gt=at, at__gt=now - _BUSY).order_by("sequence").first()
    if first is None:
        return False
    newer = Revision.objects.filter(publication__gte=first.sequence)
    return newer[_BUSY_REVISIONS : _BUSY_REVISIONS + 1].exists()


def _begin(at: SearchProgress | None) -> int | None:
    """Write the first search texts of the next zones. Return the number of zones, or 0 if no zones are left."""
    head = LogHead.objects.values_list("sequence", flat=True).get() if at is None else at.sequence
    last = 0 if at is None else at.last_zone
    zones = Zone.objects.filter(pk__gt=last).order_by("pk")
    zone_ids = list(zones.values_list("pk", flat=True)[:ZONES_AT_A_TIME])
    with transaction.atomic():
        _write_all_of(zone_ids)
        last_zone = zone_ids[-1] if zone_ids else None
        SearchProgress.objects.update_or_create(pk=1, defaults={"sequence": head, "last_zone": last_zone})
    return len(zone_ids)


def _follow(at: int) -> int | None:
    """Update the search texts for the next publications after `at`. Return the number of zones, or None at the end."""
    counted = Revision.objects.filter(publication__gt=at).values("publication_id").annotate(n=Count("pk"))
    total, to = 0, None
    for row in counted.order_by("publication_id")[:REVISIONS_AT_A_TIME]:
        if to is not None and total + row["n"] > REVISIONS_AT_A_TIME:
            break
        total, to = total + row["n"], row["publication_id"]
    if to is None:
        return None
    revisions = Revision.objects.filter(publication__gt=at, publication__lte=to)
    changed = sorted(set(revisions.values_list("zone_id", flat=True)))
    for zone_ids in _batches(changed):
        with transaction.atomic():
            _write(zone_ids, at, to)
    SearchProgress.objects.update(sequence=to)
    return len(changed)


def _write(zone_ids: Sequence[int], at: int, to: int) -> None:
    """Update the zones' search texts for the publications after `at`, up to and including `to`."""
    revisions = Revision.objects.filter(zone__in=zone_ids, publication__gt=at, publication__lte=to)
    other = set(revisions.exclude(kind=RevisionKind.CHANGE).values_list("zone_id", flat=True))
    in_blocks = set(
        SearchText.objects.filter(zone__in=zone_ids).exclude(first_key=b"").values_list("zone_id", flat=True)
    )
    piecemeal = in_blocks - other
    _write_all_of([zone_id for zone_id in zone_ids if zone_id not in piecemeal])
    for zone_id in sorted(piecemeal):
        keys = Change.objects.filter(
            revision__zone=zone_id, revision__publication__gt=at, revision__publication__lte=to
        ).values_list("owner_key", flat=True)
        changed = sorted({bytes(key) for key in keys})
        _write_around(zone_id, changed)
        display_order.place_changed(zone_id, changed)


def _write_all_of(zone_ids: Sequence[int]) -> None:
    """Replace all search texts of the zones, and update the sort keys of their names."""
    SearchText.objects.filter(zone__in=zone_ids).delete()
    display_order.place_names(zone_ids)
    counts = Zone.objects.filter(pk__in=zone_ids).order_by("pk").values_list("pk", "rrset_count")
    ranges: list[Range] = []
    for zone_id, count in counts:
        ranges += [(zone_id, b"", None)] if count <= NAMES_OF_BLOCK else _parts((zone_id, b"", None))
    _write_ranges(ranges)


def _write_around(zone_id: int, keys: Sequence[bytes]) -> None:
    """Rewrite the blocks of a large zone that contain these names. Split blocks that have grown."""
    blocks = SearchText.objects.filter(zone=zone_id).order_by("first_key").values_list("first_key", "end_key")
    ranges: list[Range] = []
    at = 0
    for first, end in blocks:
        first_key, end_key = bytes(first), None if end is None else bytes(end)
        begins = at
        while at < len(keys) and (end_key is None or keys[at] < end_key):
            at += 1
        if at > begins:
            ranges.append((zone_id, first_key, end_key))
    SearchText.objects.filter(zone=zone_id, first_key__in=[first for _, first, _ in ranges]).delete()
    _write_ranges([part for each in ranges for part in _parts(each)])


def _parts(full: Range) -> list[Range]:
    """Split the range into parts of NAMES_OF_BLOCK names."""
    zone_id, first, end = full
    borders = [
        bytes(key)
        for (key,) in fetch_all(_BORDERS, {"zone": zone_id, "first": first, "end": end, "names": NAMES_OF_BLOCK})
    ]
    return [(zone_id, begin, behind) for begin, behind in pairwise([first, *borders, end])]  # type: ignore[misc]


def _batches(those: Sequence[Each]) -> Iterator[Sequence[Each]]:
    for begin in range(0, len(those), ZONES_AT_A_TIME):
        yield those[begin : begin + ZONES_AT_A_TIME]


def _write_ranges(ranges: Sequence[Range]) -> None:
    for some in _batches(ranges):
        columns: list[Any] = [list(column) for column in zip(*some, strict=True)]
        execute(_WRITE, [*columns, BEHIND_ALL_KEYS])
