"""Select RRsets in many zones, by key or by a search, and compute the effect of an action on each RRset.

RRsets are read in bulk: the number of queries does not depend on the number of zones.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial

from django.db.models import QuerySet

from dnspanel.accounts.actors.actors import RECORD_RIGHTS, Actor, Permission, actor_of
from dnspanel.database.statement_time import SearchTooGeneral
from dnspanel.texts import gettext
from dnspanel.zones.drafts import draft
from dnspanel.zones.drafts.draft import Drafter, KeyInZone
from dnspanel.zones.errors import Forbidden, RightMissing
from dnspanel.zones.lists.selection import MOST_SELECTED, TooMany
from dnspanel.zones.models import Operation, Zone
from dnspanel.zones.plan.many_rrsets import Act, Refused, try_act
from dnspanel.zones.publishing import zone_patches
from dnspanel.zones.rights import access
from dnspanel.zones.search import rrset_conditions, zone_conditions
from dnspanel.zones.search.everywhere import BEFORE_ALL, by_more_than_the_zone, rrsets_found
from dnspanel.zones.search.terms import Search, parse
from dnspanel.zones.store import store_rrsets
from replication.codec.keys import relative_key
from replication.dns import names
from replication.dns.rrset import Change, Key, RRset

# In units of the work for one search page. This is about 1.5 million RRsets, or some seconds.
MOST_LOOKS = 50

KeyByName = tuple[str, str, int]  # name of the zone, owner name, type
# Each pair is the published RRset (None if unpublished) and the RRset as the author sees it.
Selected = dict[Zone, list[tuple[RRset | None, RRset]]]


@dataclass(frozen=True, slots=True)
class WideSelection:
    """A selection of RRsets in any number of zones: by key, or all RRsets that a search finds."""

    keys: tuple[KeyByName, ...] = ()
    search: str = ""


@dataclass(frozen=True, slots=True)
class RefusedInZone:
    """An RRset that the action can't change, with the reason."""

    zone: Zone
    rrset: RRset
    reason: str


@dataclass(slots=True)
class WideOutcome:
    """The effect of an action on the selected RRsets, before anything is written.

    Zones are sorted by name, and the changes of each zone are in canonical order.
    """

    changes: dict[Zone, list[Change]] = field(default_factory=dict)
    unchanged: int = 0
    refused: list[RefusedInZone] = field(default_factory=list)
    left_out: int = 0  # zones whose newest publications were not examined

    @property
    def count(self) -> int:
        """The number of changed RRsets."""
        return sum(map(len, self.changes.values()))

    @property
    def afters(self) -> Mapping[Zone, Mapping[Key, RRset | None]]:
        """The RRsets after the changes, keyed by zone and RRset key. None means that the RRset is deleted."""
        return {zone: {change.key: change.after for change in of_zone} for zone, of_zone in self.changes.items()}

    def examples(self, most: int) -> list[tuple[Zone, Change]]:
        """Return up to `most` changes as examples: one from each zone, then a second one from each zone, and so on."""
        found: list[tuple[Zone, Change]] = []
        for number in range(most):
            found += [(zone, of_zone[number]) for zone, of_zone in self.changes.items() if number < len(of_zone)]
            if len(found) >= most:
                break
        return found[:most]


def wide_outcome(*, act: Act, selection: WideSelection, author: Drafter, now: datetime) -> WideOutcome:
    """Return the effect of the action on each selected RRset that the author can see.

    Changes that are impossible or that the author isn't allowed to make are rejected. For a person, RRsets are as in
    the person's draft, without deleted ones. For a token, they are as published. Raise TooMany if too many RRsets are
    selected, and Forbidden if the author can't change any RRset of any zone. Raise SearchTooGeneral like
    `rrsets_found`, or if the search needs more than MOST_LOOKS pages.
    """
    actor = actor_of(author)
    if actor is None or not any(map(actor.may_somewhere, RECORD_RIGHTS)):
        raise Forbidden(Permission.EDIT)
    selected, left_out = _selected_rrsets(selection, author, now)
    outcome = _outcome(act, selected, author)
    outcome.left_out = left_out
    return outcome


def publishable_patches(outcome: WideOutcome) -> list[zone_patches.Patch]:
    """Return patches that make the outcome's changes. They skip RRsets that others changed in the meantime."""
    return [
        zone_patches.patch_of_steps(zone, [(change.key, partial(_unless_moved, change)) for change in of_zone])
        for zone, of_zone in outcome.changes.items()
    ]


def draft_outcome(*, outcome: WideOutcome, author: Drafter, now: datetime) -> int:
    """Put the outcome's changes into the author's draft. Return the number of operations."""
    return draft.change_rrsets_of_zones(author=author, afters=outcome.afters, now=now)


def _unless_moved(change: Change, current: RRset | None) -> RRset | None:
    return change.after if current == change.before else current


def _outcome(act: Act, selected: Selected, author: Drafter) -> WideOutcome:
    outcome = WideOutcome()
    for zone, pairs in selected.items():
        changes = []  # pairs: from the current RRset, and from the published RRset, to the new one
        for published, now in pairs:
            after = try_act(act, now, zone.name)
            if isinstance(after, Refused):
                outcome.refused.append(RefusedInZone(zone, now, after.reason))
            elif after == now:
                outcome.unchanged += 1
            else:
                key = now.name, now.type
                changes.append((Change(*key, now, after), Change(*key, published, after)))
        allowed = list(_allowed_changes(zone, changes, author, outcome))
        if allowed:
            outcome.changes[zone] = allowed
    return outcome


def _allowed_changes(
    zone: Zone, changes: Sequence[tuple[Change, Change]], author: Drafter, outcome: WideOutcome
) -> Iterator[Change]:
    """Yield the changes that the author is allowed to publish. Add the others to the rejected ones in `outcome`.

    All changes are first checked together, because usually either all or none are allowed.
    """
    try:
        access.refuse_changes(author, zone, (published for _, published in changes))
    except RightMissing:
        for change, published in changes:
            try:
                access.refuse_changes(author, zone, [published])
            except RightMissing as exc:
                assert change.before is not None
                outcome.refused.append(RefusedInZone(zone, change.before, str(exc)))
            else:
                yield change
    else:
        yield from (change for change, _ in changes)


def _selected_rrsets(selection: WideSelection, author: Drafter, now: datetime) -> tuple[Selected, int]:
    """Return the RRsets keyed by zone, and the number of partly searched zones. Raise TooMany above MOST_SELECTED."""
    if len(selection.keys) > MOST_SELECTED:
        raise TooMany
    visible, left_out = access.zones_visible_to(author), 0
    if selection.keys:
        places = _places_of_keys(selection.keys, visible)
        published: dict[KeyInZone, RRset] = {}
        operations = _drafted_at(author, places)
    else:
        published, operations, left_out = _find_rrsets(parse(selection.search), visible, author, now)
        places = published.keys() | operations.keys()
        operations |= _drafted_at(author, published.keys() - operations.keys())
    if len(places) > MOST_SELECTED:
        raise TooMany
    zones = visible.in_bulk({zone_id for zone_id, _, _ in places})
    published |= _published_at(zones, places - published.keys())
    by_zone: Selected = {}
    for place in sorted((place for place in places if place[0] in zones), key=lambda place: _canonical(place, zones)):
        before, operation = published.get(place), operations.get(place)
        after = draft.edit_of(operation).change.after if operation else before
        if after is not None:
            by_zone.setdefault(zones[place[0]], []).append((before, after))
    return {zone: seen for zone, pairs in by_zone.items() if (seen := _visible_pairs(zone, pairs, author))}, left_out


def _canonical(place: KeyInZone, zones: Mapping[int, Zone]) -> tuple[str, bytes, int]:
    zone_id, name, type_ = place
    zone_name = zones[zone_id].name
    return zone_name, relative_key(name, zone_name), type_


def _visible_pairs(
    zone: Zone, pairs: Sequence[tuple[RRset | None, RRset]], author: Drafter
) -> list[tuple[RRset | None, RRset]]:
    """Return the pairs whose second RRset the author can see."""
    visibility = access.visibility_of(author, zone)
    return [pair for pair in pairs if visibility is None or visibility(pair[1].name, pair[1].type)]


def _places_of_keys(keys: Collection[KeyByName], visible: "QuerySet[Zone]") -> set[KeyInZone]:
    """Return the keys in zones that the author can see, with zone ids instead of zone names."""
    ids = dict(visible.filter(name__in={zone for zone, _, _ in keys}).values_list("name", "pk"))
    return {(ids[zone], name, type) for zone, name, type in keys if zone in ids and names.is_within(name, zone)}


def _find_rrsets(
    search: Search, visible: "QuerySet[Zone]", author: Drafter, now: datetime
) -> tuple[dict[KeyInZone, RRset], dict[KeyInZone, Operation], int]:
    """Return the published RRsets that a search finds, and the matching operations in the author's draft.

    A search that is empty or has faults finds nothing. The number is of zones whose newest publications the search did
    not include. Raise TooMany and SearchTooGeneral like `wide_outcome`.
    """
    if search.faults or not search:
        return {}, {}, 0
    published: dict[KeyInZone, RRset] = {}
    after, looks = BEFORE_ALL, 0
    while True:
        page = rrsets_found(person=author, search=search, now=now, after=after, limit=MOST_SELECTED)
        published |= {(row.zone.pk, row.rrset.name, row.rrset.type): row.rrset for row in page.rows}
        if len(published) > MOST_SELECTED or (page.next_after and not page.looked_to):
            raise TooMany
        if page.next_after is None:
            break
        after, looks = page.next_after, looks + 1
        if looks == MOST_LOOKS:
            raise SearchTooGeneral(
                gettext(
                    "The search stopped at {looked_to} after {published:,} matching records. Enter a longer search "
                    "text, or search fewer zones."
                ).format(looked_to=page.looked_to, published=len(published))
            )
    zones = zone_conditions.fitting(visible, Search(search.about_zones_alone), now=now)
    drafted = rrset_conditions.fitting(
        _drafted_operations(author).filter(zone__in=zones), search, access.zones_seen_by(author)
    )
    operations = by_more_than_the_zone(drafted, search.words)[: MOST_SELECTED + 1]
    return published, {(row.zone_id, row.name, row.type): row for row in operations}, page.left_out


def _published_at(zones: Mapping[int, Zone], places: Collection[KeyInZone]) -> dict[KeyInZone, RRset]:
    owners: dict[int, tuple[str, set[str]]] = {}
    for zone_id, name, _ in places:
        if zone_id in zones:
            owners.setdefault(zone_id, (zones[zone_id].name, set()))[1].add(name)
    found = store_rrsets.rrsets_at_names(owners)
    wanted = set(places)
    every = ((zone_id, *key, rrset) for zone_id, rrsets in found.items() for key, rrset in rrsets.items())
    return {(id, name, type): rrset for id, name, type, rrset in every if (id, name, type) in wanted}


def _drafted_operations(author: Drafter) -> "QuerySet[Operation]":
    """Select the operations in the author's draft, or none for a token, which publishes without a draft."""
    return Operation.objects.none() if isinstance(author, Actor) else draft.operations_of(author)


def _drafted_at(author: Drafter, places: Collection[KeyInZone]) -> dict[KeyInZone, Operation]:
    if not places:
        return {}
    found = _drafted_operations(author).filter(zone__in={zone_id for zone_id, _, _ in places})
    return {place: row for row in found if (place := (row.zone_id, row.name, row.type)) in places}
