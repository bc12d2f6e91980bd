"""Find records that point to missing names in other zones, or to names that the changes remove.

`rules` checks one zone. This module checks the panel's other zones, with a few queries for any number of records. It
makes no query if no record points out of its zone and no name is removed. It doesn't show names of zones and records
that the person isn't allowed to see: a target in such a zone is treated like a target on other servers.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from dnspanel.accounts.actors.actors import Person
from dnspanel.texts import gettext, join_list, ngettext
from dnspanel.zones.models import Zone
from dnspanel.zones.names import nesting
from dnspanel.zones.rights import access
from dnspanel.zones.rules.neighbourhood import Neighbourhood, ancestors_within, targets_of
from dnspanel.zones.rules.target_rules import fault_of_target, has_address
from dnspanel.zones.rules.violations import Severity, Violation
from dnspanel.zones.store import store_rrsets
from replication.dns import names, rdata, rdtypes
from replication.dns.rrset import Change, Key, RRset

_REVERSE = "in-addr.arpa."
MOST_TARGETS = 2_000  # examined in one call
MOST_GOING = 200  # removed names whose pointers are searched in one call
_MOST_POINTERS = 10  # for each name, for each of three kinds (see `rrsets_pointing_at`)
_MOST_NAMED = 3  # named in a message
_MOST_RRSETS = 1_000  # of a zone to delete


@dataclass(frozen=True, slots=True)
class Move:
    """The changes to a zone, and the zone's RRsets before the changes, at least those at the changed names.

    For owner names and targets in the changes, `answered_by` has the child zone that answers for the name, if any.
    """

    zone: Zone
    changes: Sequence[Change]
    before: Mapping[Key, RRset]
    answered_by: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Pointer:
    """An RRset that points to a name, and the RRset's zone. Both are None if the person isn't allowed to see them."""

    target: str
    zone: Zone | None = None
    rrset: RRset | None = None


def faults(moves: Sequence[Move], person: Person | None) -> dict[int, list[Violation]]:
    """Return warnings, keyed by zone id, about records that point to missing names or to names that the moves remove.

    The warnings describe the state after all moves.
    """
    found: dict[int, list[Violation]] = {}
    after = {move.zone.pk: {change.key: change.after for change in move.changes} for move in moves}
    for zone_id, violation, _ in _leading_nowhere(moves, after, person):
        found.setdefault(zone_id, []).append(violation)
    for zone_id, violation in _left_behind(moves, after, person):
        found.setdefault(zone_id, []).append(violation)
    return found


def missing_elsewhere(
    zone: Zone, rrsets: Iterable[RRset], answered_by: Mapping[str, str], person: Person
) -> dict[tuple[str, int, str], str]:
    """Return warnings about published targets that other zones lack, keyed by the RRset's name, its type and target."""
    move = Move(zone, [Change(rrset.name, rrset.type, None, rrset) for rrset in rrsets], {}, answered_by)
    found = _leading_nowhere([move], {}, person)
    return {(violation.name, violation.type, target): violation.message for _, violation, target in found}


def leading_nowhere(owned: Mapping[int, tuple[Zone, Sequence[RRset]]]) -> Iterator[tuple[int, Violation, int]]:
    """Yield warnings for published RRsets that point to a missing name in another zone.

    `owned` is {zone id: (zone, RRsets)}. Each item is the zone id, the warning, and the id of the other zone. The check
    reads all zones of the panel. The caller must show a warning only to people who can see the other zone.
    """
    within = {
        zone.name: {target for rrset in rrsets for target in targets_of(rrset) if names.is_within(target, zone.name)}
        for zone, rrsets in owned.values()
    }
    answered = nesting.answering_zones({name: targets - {name} for name, targets in within.items() if targets})
    leading = [
        each for zone, rrsets in owned.values() for each in _leading_out(zone, rrsets, answered.get(zone.name, {}))
    ]
    targets = list(dict.fromkeys(target for _, _, target in leading))
    for start in range(0, len(targets), MOST_TARGETS):
        closest = access.closest_zones(targets[start : start + MOST_TARGETS], Zone.objects.filter(deleted_at=None))
        answers = _answers(closest, {})
        for zone, rrset, target in leading:
            if target in answers and (fault := fault_of_target(zone.name, rrset, target, answers[target])) is not None:
                yield zone.pk, fault, closest[target].pk


def pointers_into(zone: Zone, person: Person, *, most: int = _MOST_RRSETS) -> tuple[list[Pointer], bool]:
    """Return the records of other zones that point to names in this zone, and True if not all names were checked.

    A page shows these records before the zone is deleted. Only the names of the first `most` RRsets are checked.
    """
    first = store_rrsets.rrsets_within(zone.pk, zone.name, [zone.name], most + 1)
    inside = list(dict.fromkeys(rrset.name for rrset in first[:most]))
    others = nesting.answering_zones({zone.name: set(inside) - {zone.name}})[zone.name]
    rows = store_rrsets.rrsets_pointing_at([name for name in inside if name not in others], _MOST_POINTERS)
    sees = _Seen(person, {zone_id for _, zone_id, _ in rows})
    found = [
        _seen_as(sees, target, zone_id, rrset)
        for target, zone_id, rrset in rows
        if zone_id != zone.pk and target in targets_of(rrset)
    ]
    in_order = sorted(found, key=lambda each: each.rrset is None)
    return in_order, len(first) > most


class _Seen:
    """The given zones that a person can see, and which of their RRsets are visible. One query loads the zones."""

    def __init__(self, person: Person | None, zone_ids: Iterable[int]) -> None:
        self._zones: dict[int, Zone] = {}
        self._of_zone: dict[int, access.Visibility | None] = {}
        if person is not None:
            self._zones = access.zones_visible_to(person).in_bulk(set(zone_ids))
            self._of_zone = {pk: access.visibility_of(person, zone) for pk, zone in self._zones.items()}

    def zone_of(self, zone_id: int, rrset: RRset) -> Zone | None:
        """Return the zone if the person can see this RRset in it, else None."""
        sees = self._of_zone.get(zone_id)
        return self._zones.get(zone_id) if sees is None or sees(rrset.name, rrset.type) else None


def _seen_as(sees: _Seen, target: str, zone_id: int, rrset: RRset) -> Pointer:
    zone = sees.zone_of(zone_id, rrset)
    return Pointer(target) if zone is None else Pointer(target, zone, rrset)


def _leading_nowhere(
    moves: Sequence[Move], after: Mapping[int, Mapping[Key, RRset | None]], person: Person | None
) -> Iterator[tuple[int, Violation, str]]:
    """Yield warnings about new records that point to a missing target in another zone that the person can see."""
    leading = [
        each
        for move in moves
        for each in _leading_out(
            move.zone, (change.after for change in move.changes if change.after is not None), move.answered_by
        )
    ]
    if not leading or person is None:
        return
    wanted = list(dict.fromkeys(target for _, _, target in leading))[:MOST_TARGETS]
    closest = access.closest_zones_visible_to(person, wanted)
    answers = _answers(closest, after)
    hidden = _names_hidden_from(closest, person)
    for zone, rrset, target in leading:
        if target in answers and target not in hidden:
            fault = fault_of_target(zone.name, rrset, target, answers[target])
            if fault is not None:
                yield zone.pk, fault, target


def _leading_out(
    zone: Zone, rrsets: Iterable[RRset], answered_by: Mapping[str, str]
) -> Iterator[tuple[Zone, RRset, str]]:
    """Yield each RRset that points out of the zone, with zone and target, except DNAMEs and classless CNAMEs."""
    for rrset in rrsets:
        if rrset.type == rdtypes.DNAME:
            continue
        for target in sorted(targets_of(rrset)):
            if (target in answered_by or not names.is_within(target, zone.name)) and not _is_classless(rrset, target):
                yield zone, rrset, target


def _names_hidden_from(closest: Mapping[str, Zone], person: Person) -> set[str]:
    """Return names whose records are hidden from the person in a visible zone. `closest` is {name: zone}."""
    by_zone = {zone.pk: access.visibility_of(person, zone) for zone in closest.values()}
    limited = [(name, sees) for name, zone in closest.items() if (sees := by_zone[zone.pk]) is not None]
    return {name for name, sees in limited if not sees(name, rdtypes.A)}


def _answers(
    closest: Mapping[str, Zone], after: Mapping[int, Mapping[Key, RRset | None]]
) -> dict[str, Mapping[int, RRset]]:
    """Return the zones' answers for names after the changes, in one query. `closest` is {name: zone}.

    Omit names that are delegated to other servers or are below a DNAME.
    """
    near: dict[int, tuple[str, set[str]]] = {}
    for name, zone in closest.items():
        above = list(ancestors_within(name, zone.name))
        near.setdefault(zone.pk, (zone.name, set()))[1].update((name, *above, *map(_wildcard_below, above)))
    at_names = store_rrsets.rrsets_at_names(near) if near else {}
    made = {
        zone_id: Neighbourhood(near[zone_id][0], _overlaid(rrsets, after.get(zone_id, {})), {})
        for zone_id, rrsets in at_names.items()
    }
    found = ((name, made[zone.pk].answers_at(name)) for name, zone in closest.items())
    return {name: answers for name, answers in found if answers is not None}


def _wildcard_below(name: str) -> str:
    return f"*.{name}" if name != names.ROOT else "*."


def _overlaid(rrsets: Mapping[Key, RRset], after: Mapping[Key, RRset | None]) -> dict[Key, RRset]:
    """Apply the changes `after` to the RRsets, and return the served RRsets of the result."""
    return {key: rrset for key, rrset in {**rrsets, **after}.items() if rrset is not None and rrset.served}


def _left_behind(
    moves: Sequence[Move], after: Mapping[int, Mapping[Key, RRset | None]], person: Person | None
) -> Iterator[tuple[int, Violation]]:
    """Yield warnings about removed names that other records still point to.

    The other records are in other zones, or are records of the same zone that `rules` does not check.
    """
    going = {(move.zone.pk, name): move.zone for move in moves for name in _going(move)}
    if not going:
        return
    zones = {name: zone for (_, name), zone in list(going.items())[:MOST_GOING]}
    rows = [
        (target, zone_id, rrset)
        for target, zone_id, stored in store_rrsets.rrsets_pointing_at(list(zones), _MOST_POINTERS)
        if (rrset := after.get(zone_id, {}).get((stored.name, stored.type), stored)) is not None
        and target in targets_of(rrset)
        and not _is_classless(rrset, target)
    ]
    if not rows:
        return
    pointed = {target for target, _, _ in rows}
    inside = nesting.answering_zones({zone.name: {n for n in pointed if zones[n] == zone} for zone in zones.values()})
    answered_here = {name: zones[name] for name in pointed if name not in inside[zones[name].name]}
    answers = _answers(answered_here, after)
    sees = _Seen(person, {zone_id for _, zone_id, _ in rows})
    of_others: dict[str, list[Pointer]] = {}
    for target, zone_id, rrset in rows:
        if target not in answers or not (fault := fault_of_target(zones[target].name, rrset, target, answers[target])):
            continue
        if zone_id != zones[target].pk:
            of_others.setdefault(target, []).append(_seen_as(sees, target, zone_id, rrset))
        elif rrset.type not in rdata.NAME_ONLY:
            yield zone_id, fault
    types = {(move.zone.pk, change.name): change.type for move in moves for change in move.changes}
    for target, pointers in of_others.items():
        zone = zones[target]
        message = (
            gettext("{target} no longer has an address, but {pointing}")
            if answers[target]
            else gettext("{target} no longer exists, but {pointing}")
        ).format(target=names.owner_text(target, zone.name), pointing=_pointing(pointers))
        yield zone.pk, Violation(Severity.WARNING, "pointed-at", target, types[zone.pk, target], message)


def _is_classless(rrset: RRset, target: str) -> bool:
    """Return True if the RRset is a CNAME from one IPv4 reverse name to another (RFC 2317).

    A classless delegation has such CNAMEs for all addresses of a network, even for those without a PTR record.
    """
    return rrset.type == rdtypes.CNAME and all(names.is_within(name, _REVERSE) for name in (rrset.name, target))


def _going(move: Move) -> Iterator[str]:
    """Yield the names that lose all their records or all their addresses. A replaced record doesn't count as lost."""
    lessened = {change.name for change in move.changes if change.after is None or not change.after.served}
    if not lessened:
        return
    before: dict[str, dict[int, RRset]] = {name: {} for name in lessened}
    for (name, type), rrset in move.before.items():
        if name in lessened and rrset.served:
            before[name][type] = rrset
    stays = {name: dict(of_name) for name, of_name in before.items()}
    for change in move.changes:
        if change.name not in lessened:
            continue
        if change.after is not None and change.after.served:
            stays[change.name][change.type] = change.after
        else:
            stays[change.name].pop(change.type, None)
    for name, after in stays.items():
        was = before[name]
        if (was and not after) or (has_address(was) and not has_address(after)):
            yield name


def _pointing(pointers: Sequence[Pointer]) -> str:
    """Return a clause that names the pointing records, such as `MX example.net. still points to this name`."""
    known: list[str] = [
        f"{rdata.type_to_text(each.rrset.type)} {each.rrset.name}" for each in pointers if each.rrset is not None
    ]
    if len(pointers) == 1:
        what = known[0] if known else gettext("a record in another zone")
        return gettext("{what} still points to this name").format(what=what)
    rest = len(pointers) - len(known[:_MOST_NAMED])
    if rest:
        known[_MOST_NAMED:] = [
            gettext("more records in other zones")
            if len(pointers) >= _MOST_POINTERS
            else ngettext("{count} record in another zone", "{count} records in other zones", rest).format(count=rest)
        ]
    return gettext("{what} still point to this name").format(what=join_list(known))
