"""The history of a zone's keys: created, in the DNSKEY RRset, signing, in the parent's DS, deleted.

The times come from the revisions that changed the zone's signing. The DS times come from queries to the parent's
servers. A time that wasn't stored is missing; it is never guessed.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from dnspanel.zones.dnssec import key_material
from dnspanel.zones.dnssec.rollover_stages import BACK, EMERGENCY, STAGES, Kind, Step, Use
from dnspanel.zones.dnssec.signing_state import KeyRole, KeyState, SigningState
from dnspanel.zones.models import Revision, Rollover, SigningChange, Zone, ZoneKey

# The numbers of former keys that are shown, and of signing changes that are read.
MOST_RETIRED = 6
MOST_CHANGES = 500


class Event(StrEnum):
    """The events in a key's life, in chronological order."""

    MADE = "made"
    PUBLISHED = "published"  # in the DNSKEY RRset
    SIGNS = "signs"
    DS = "ds"  # all servers of the parent have a DS of the key
    DS_GONE = "ds-gone"  # no server of the parent has a DS of the key
    RESTS = "rests"  # no longer signs
    HIDDEN = "hidden"  # out of the DNSKEY RRset
    GONE = "gone"  # the zone no longer has the key


_ORDER = list(Event)


@dataclass(frozen=True, slots=True)
class Moment:
    event: Event
    at: datetime


@dataclass(frozen=True, slots=True)
class Expected:
    """A key's next event and its earliest time. The time is None if it depends on other parties."""

    event: Event
    earliest: datetime | None


@dataclass(frozen=True, slots=True)
class KeyHistory:
    """A current or former key of a zone, with its past events (oldest first) and its expected events."""

    id: int
    tag: int
    algorithm: int
    role: KeyRole
    moments: tuple[Moment, ...]
    has_ds: bool
    use: KeyState | None  # its current use; None: the zone no longer has the key
    expected: tuple[Expected, ...] = ()

    @property
    def mnemonic(self) -> str:
        return key_material.ALGORITHMS[self.algorithm]


def histories_of(zone: Zone, state: SigningState, rolled: Rollover | None) -> list[KeyHistory]:
    """Return the histories of the zone's current keys and newest former keys, oldest first. Makes at most five queries.

    `rolled` is the zone's newest rollover. While it is in progress, the histories include expected events.
    """
    rows = ZoneKey.objects.filter(zone=zone).defer("private_encrypted")
    ids = [key.id for key in state.keys]
    retired = rows.filter(deleted_at__isnull=False).exclude(pk__in=ids).order_by("-deleted_at", "-pk")[:MOST_RETIRED]
    keys = sorted([*rows.filter(pk__in=ids), *retired], key=lambda row: row.pk)
    if not keys:
        return []
    changes = _changes(zone)
    expected = {} if rolled is None or rolled.ended_at is not None else expected_of(rolled)
    return [_history(key, state, changes, expected.get(key.pk, ())) for key in keys]


def expected_of(rolled: Rollover) -> dict[int, tuple[Expected, ...]]:
    """Return expected events of a rollover's keys, keyed by key id: DS changes, and key changes in the next step."""
    kind, step = Kind(rolled.kind), Step(rolled.step)
    paths = (EMERGENCY.get(kind, ()),) if rolled.is_emergency else (STAGES[kind], BACK[kind])
    path, at = next(((path, n) for path in paths for n, each in enumerate(path) if each.step is step), ((), 0))
    found: dict[int, list[Expected]] = {id: [] for id in (*rolled.old_keys, *rolled.new_keys)}
    marks = {(str(key.tag), str(key.algorithm)): key.pk for key in ZoneKey.objects.filter(pk__in=list(found))}
    for event, texts in ((Event.DS, rolled.add_ds), (Event.DS_GONE, rolled.remove_ds)):
        named = {marks.get((text.split()[0], text.split()[1])) for text in texts}
        for id in sorted(named & {*found}, key=str):
            found[id or 0].append(Expected(event, None))
    if at + 1 < len(path):
        here, following = path[at], path[at + 1]
        for id in rolled.old_keys:
            found[id] += [Expected(each, rolled.earliest) for each in _events(_of(here.old), _of(following.old))]
        for id in rolled.new_keys:
            found[id] += [Expected(each, rolled.earliest) for each in _events(_of(here.new), _of(following.new))]
    return {id: tuple(each) for id, each in found.items() if each}


# (signs, is in the DNSKEY RRset), or None if the zone does not have the key.
_Use = tuple[bool, bool] | None


def _of(use: Use) -> _Use:
    return None if use is Use.GONE else (use in {Use.FULL, Use.SIGNS}, use in {Use.FULL, Use.PUBLISHED})


def _use_in(state: SigningState, id: int) -> _Use:
    key = state.key(id)
    return None if key is None else (key.active, key.published)


def _events(before: _Use, after: _Use) -> Iterator[Event]:
    """Yield the events of a key when its use changes from `before` to `after`."""
    signed, published = before or (False, False)
    signs, is_published = after or (False, False)
    if is_published and not published:
        yield Event.PUBLISHED
    if signs and not signed:
        yield Event.SIGNS
    if signed and not signs:
        yield Event.RESTS
    if published and not is_published:
        yield Event.HIDDEN
    if before is not None and after is None:
        yield Event.GONE


@dataclass(frozen=True, slots=True)
class _Change:
    at: datetime
    before: SigningState
    after: SigningState


def _changes(zone: Zone) -> list[_Change]:
    """Return the zone's newest signing changes (at most MOST_CHANGES), oldest first."""
    rows = list(SigningChange.objects.filter(zone=zone).order_by("-revision_number")[:MOST_CHANGES])
    numbers = [row.revision_number for row in rows]
    revisions = Revision.objects.filter(zone=zone, number__in=numbers)
    at: Mapping[int, datetime] = dict(revisions.values_list("number", "publication__at"))
    return [
        _Change(at[row.revision_number], SigningState.from_json(row.before), SigningState.from_json(row.after))
        for row in reversed(rows)
        if row.revision_number in at
    ]


def _history(
    row: ZoneKey, state: SigningState, changes: Sequence[_Change], expected: tuple[Expected, ...]
) -> KeyHistory:
    moments = [Moment(Event.MADE, row.created_at)]
    last = state
    for change in changes:
        events = _events(_use_in(change.before, row.pk), _use_in(change.after, row.pk))
        moments += [Moment(event, change.at) for event in events]
        if state.key(row.pk) is None and change.before.key(row.pk) is not None:
            last = change.before
    if row.ds_seen_at is not None:
        moments.append(Moment(Event.DS, row.ds_seen_at))
    if row.ds_gone_at is not None:
        moments.append(Moment(Event.DS_GONE, row.ds_gone_at))
    then = last.key(row.pk) or KeyState(row.pk, row.algorithm, row.flags)
    return KeyHistory(
        id=row.pk,
        tag=row.tag,
        algorithm=row.algorithm,
        role=last.role(then),
        moments=tuple(sorted(moments, key=lambda each: (each.at, _ORDER.index(each.event)))),
        has_ds=row.ds_seen_at is not None and row.ds_gone_at is None,
        use=state.key(row.pk),
        expected=expected,
    )
