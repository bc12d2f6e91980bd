"""Find the zone that answers for a name, and check the right to create a zone with a name.

A name server answers from the zone with the longest matching name (RFC 1034 4.3.2). A new zone therefore takes the
names at and below its apex from its parent zone, the closest zone above it. It also becomes the parent of the zones
below it and controls their delegation. Both require the right to change every record of the other zones. Every function
that makes a zone name live calls `refuse_names`.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.conf import settings

from dnspanel.accounts.actors.actors import RECORD_RIGHTS, Actor, Author, actor_of
from dnspanel.advisory_locks import SqlLock
from dnspanel.database.sql import execute, fetch_all
from dnspanel.suffixes import read_suffixes
from dnspanel.zones import errors
from dnspanel.zones.dnssec.trust import broken_by
from dnspanel.zones.models import Change, Revision, RevisionKind, Zone
from dnspanel.zones.rights import access
from dnspanel.zones.rules.neighbourhood import ancestors_within, is_shadowed
from dnspanel.zones.store import store_rrsets
from dnspanel.zones.store.find_zones import ids_of_living
from dnspanel.zones.store.stored_changes import rrset_after
from dnspanel.zones.values.reverse_names import reverse_zones_of
from replication.dns import names, rdtypes
from replication.dns.rrset import Key, RRset

_IN_ORDER = f"SELECT {SqlLock.ZONE_NAMES.until_commit}"

# {0} is true for zones where the author can change every record.
_ABOVE = """
SELECT z.name, z.id, {0} FROM zones_zone z
WHERE z.deleted_at IS NULL AND z.name = ANY(%(above)s) AND z.id <> ALL(%(own)s)"""

# For each name, find some zones below it that aren't the author's, by the index zone_name_backwards: names below
# `example.`, read backwards, start with `.elpmaxe.` and come before `.elpmaxe/`. A dot after an odd number of
# backslashes is part of a label (`a\.example.`), so it separates nothing.
_BELOW = r"""
SELECT n.name, found.id, found.name FROM unnest(%(names)s::text[], %(first)s::text[], %(behind)s::text[])
    AS n (name, first, behind)
CROSS JOIN LATERAL (
    SELECT z.id, z.name FROM zones_zone z, rtrim(left(z.name, -length(n.first)), '\') AS bare
    WHERE z.deleted_at IS NULL AND z.name <> n.name AND z.id <> ALL(%(own)s)
        AND reverse(z.name) >= n.first COLLATE "C" AND reverse(z.name) < n.behind COLLATE "C"
        AND (length(z.name) - length(n.first) - length(bare)) %% 2 = 0
        AND {0} IS NOT TRUE
    LIMIT %(limit)s
) AS found"""


# For a zone with more owner names than _MANY_NAMES, all zones below it are read, up to _FEW_INSIDE. Most zones have
# none.
_MANY_NAMES = 100
_FEW_INSIDE = 100

# Limits of the examination of shadowed names for a page.
_MOST_BELOW = 100
_MOST_RRSETS = 20
_MOST_CHANGES = 1000
_MOST_CAME = 10


@dataclass(frozen=True, slots=True)
class ZoneAbove:
    """The parent zone of a name: the closest live zone above it."""

    id: int
    name: str


@dataclass(frozen=True, slots=True)
class Shadowed:
    """An RRset that name servers never return, because the child zone `by` answers for the RRset's name."""

    zone: Zone
    name: str
    type: int
    by: str


def refuse_names(
    *, zone_names: Sequence[str], own: Collection[int], author: Author, signed: Collection[str] = ()
) -> None:
    """Raise NamesRefused if the author isn't allowed to make zones with these names live.

    The error has a reason for each name: PublicSuffix, ReverseName, NameOfOthers, SignedAtParent or BreaksBelow.
    SignedAtParent means that a DS in the parent zone matches none of the zone's keys. BreaksBelow means that a DS in
    the zone matches none of a child zone's keys. `own` has the ids of these zones, if they already exist. For names
    that the same publication will sign (`signed`), call `refuse_broken` after signing.

    Call this function in the transaction that makes the zones live: after their rows are written, and before the
    publication is appended to the log. Authors who need rights over other zones wait for each other until they commit,
    so that two authors can't create a zone and its child zone at the same time. Authors who can change all records of
    all zones never wait, because the order makes no difference for them.
    """
    if refused := refusals_for_everybody(zone_names):
        raise errors.NamesRefused(refused)
    refuse_rights(zone_names=zone_names, own=own, author=author)
    refuse_broken(zone_names=[name for name in zone_names if name not in signed])
    below = {(name, child): reason for name, child, reason in broken_below(own)}
    if below:
        raise errors.NamesRefused(
            {name: errors.BreaksBelow(name, child, reason) for (name, child), reason in below.items()}
        )


def refuse_broken(*, zone_names: Collection[str]) -> None:
    """Raise NamesRefused (SignedAtParent) if the DS of a zone in its parent zone matches none of the zone's keys."""
    at_parent = ds_above(zone_names) if zone_names else {}
    if at_parent and (broken := broken_by({name: above.ds for name, above in at_parent.items()})):
        raise errors.NamesRefused({name: errors.SignedAtParent(name, at_parent[name].zone_name) for name in broken})


def broken_below(zone_ids: Collection[int]) -> list[tuple[str, str, str]]:
    """Return zones of this panel that are bogus because a DS in one of the given zones matches none of their keys.

    Each result is (name of the zone with the DS, name of the bogus zone, reason). Without DS, this needs one query.
    """
    found = store_rrsets.ds_of_zones(zone_ids) if zone_ids else {}
    served = {rrset.name: rrset.served for rrsets in found.values() for rrset in rrsets if rrset.served}
    broken = broken_by(served)
    # A zone in between can have another DS or none, so check the parent zone's DS.
    above = ds_above(broken)
    still = broken_by({name: each.ds for name, each in above.items()}) if above else {}
    names_of = dict(Zone.objects.filter(pk__in=list(found)).values_list("pk", "name")) if still else {}
    return sorted(
        (above[name].zone_name, name, reason)
        for name, reason in still.items()
        if above[name].zone_name in names_of.values()
    )


def refuse_rights(*, zone_names: Sequence[str], own: Collection[int], author: Author) -> None:
    """Raise NamesRefused (NameOfOthers) if live zones with these names require rights that the author lacks."""
    take_turns(author)
    if refused := refusals_by_others(zone_names=zone_names, own=own, author=author):
        raise errors.NamesRefused(refused)


def take_turns(author: Author) -> None:
    """Take the lock on new names, unless the author has rights over all records of all zones.

    Authors who need rights over other zones wait here for each other. The lock is held until the transaction ends.
    """
    if not is_unbounded(author):
        lock_names()


def lock_names() -> None:
    """Take the lock on new names that `take_turns` uses, until the transaction ends."""
    execute(_IN_ORDER)


def is_unbounded(author: Author) -> bool:
    """Return True if the author is allowed to change all records of all zones, and therefore to use any name."""
    actor = None if author is None else actor_of(author)
    return author is None or (actor is not None and all(map(actor.may_everywhere, RECORD_RIGHTS)))


def refusals_for_everybody(zone_names: Iterable[str]) -> dict[str, errors.NameRefused]:
    """Return the names that no author is allowed to use for a zone, with the reasons."""
    suffixes = read_suffixes(tuple(settings.REFUSED_SUFFIXES), settings.PUBLIC_SUFFIX_LIST)
    refused: dict[str, errors.NameRefused] = {}
    for name in zone_names:
        if reverse := reverse_zones_of(name):
            choices = [zone for zones in reverse.choices for zone in zones]
            refused[name] = errors.ReverseName(name, reverse.network, choices)
        elif name in suffixes:
            refused[name] = errors.PublicSuffix(name)
    return refused


def refusals_by_others(
    *, zone_names: Sequence[str], author: Author, own: Collection[int] = ()
) -> dict[str, errors.NameOfOthers]:
    """Return one conflict of each name with other people's zones, keyed by name, with at most three queries.

    A name conflicts with its parent zone and with every zone below it, unless the author is allowed to change all
    records of that zone. The result names the other zone only if the author is allowed to see it.
    """
    if is_unbounded(author) or not zone_names:
        return {}
    found = {**_others_below(zone_names, own, author), **_others_above(zone_names, own, author)}
    visible: set[int] = set()
    if found and (actor := actor_of(author) if author is not None else None):
        ids = [zone_id for _, zone_id, _ in found.values()]
        visible = set(access.zones_visible_to(actor).filter(pk__in=ids).values_list("pk", flat=True))
    return {
        name: errors.NameOfOthers(name, side, other if zone_id in visible else "")
        for name, (side, zone_id, other) in found.items()
    }


def zones_above(zone_names: Iterable[str], *, without: Collection[int] = ()) -> dict[str, ZoneAbove]:
    """Return the closest live zone above each name, keyed by name, in one query. Skip zones with ids in `without`."""
    parents = {name: names.parent(name) for name in zone_names}  # in an import, most names have the same parent
    chains = {parent: _with_those_above(parent) for parent in set(parents.values()) if parent is not None}
    living = ids_of_living({at for chain in chains.values() for at in chain})
    live = {at: pk for at, pk in living.items() if pk not in without} if without else living
    found = {parent: ZoneAbove(live[above], above) for parent, above in _closest(chains, live).items()}
    return {name: found[parent] for name, parent in parents.items() if parent in found}


@dataclass(frozen=True, slots=True)
class DsAbove:
    """The DS records that the parent zone of a name serves."""

    zone_name: str
    ds: tuple[str, ...]


def ds_above(zone_names: Iterable[str]) -> dict[str, DsAbove]:
    """Return the DS records that each name's parent zone serves, keyed by name. Omit names without DS records.

    If a name has a DS, resolvers accept only signed answers (RFC 4035 5.2). Only parents in this panel are checked.
    """
    found = {}
    for name, (parent, rrsets) in rrsets_above(zone_names).items():
        ds = rrsets.get((name, rdtypes.DS))
        if ds is not None and ds.served:
            found[name] = DsAbove(parent.name, ds.served)
    return found


def rrsets_above(zone_names: Iterable[str]) -> dict[str, tuple[ZoneAbove, Mapping[Key, RRset]]]:
    """Return each name's parent zone, and that zone's RRsets at all its names in `zone_names`. Needs two queries."""
    above = zones_above(zone_names)
    below: dict[int, tuple[str, set[str]]] = {}
    for name, parent in above.items():
        below.setdefault(parent.id, (parent.name, set()))[1].add(name)
    at_names = store_rrsets.rrsets_at_names(below) if below else {}
    return {name: (parent, at_names[parent.id]) for name, parent in above.items()}


def answering_zones(owners: Mapping[str, Collection[str]]) -> dict[str, dict[str, str]]:
    """Return the names in each zone that a child zone answers for, as {zone: {name: answering zone}}.

    `owners` is {zone: names}. Needs one query for any number of zones and names, or two if a zone has many names.
    """
    known = _few_inside([zone for zone, owned in owners.items() if len(owned) > _MANY_NAMES])
    # Most zones have no child zones. Their names aren't examined.
    looked_at = {zone: owned for zone, owned in owners.items() if known.get(zone, {zone})}
    chains = {zone: {name: list(_inside(name, zone)) for name in owned} for zone, owned in looked_at.items()}
    named = {at for zone, of_zone in chains.items() if zone not in known for chain in of_zone.values() for at in chain}
    live = ids_of_living(named).keys() | set().union(*known.values())
    return {zone: _closest(chains.get(zone, {}), live) for zone in owners}


def shadowed_rrsets(zone: Zone, rrsets: Iterable[RRset]) -> dict[Key, str]:
    """Return the zone's RRsets that name servers never return, each with the child zone that answers for its name.

    Needs one query, or two if a child zone answers for one of the names.
    """
    return shadowed_in({zone.pk: (zone, list(rrsets))})[zone.pk]


def shadowed_in(owned: Mapping[int, tuple[Zone, Sequence[RRset]]]) -> dict[int, dict[Key, str]]:
    """Return each zone's `shadowed_rrsets` for {zone id: (zone, RRsets)}. Needs as many queries as for one zone."""
    found: dict[int, dict[Key, str]] = {zone_id: {} for zone_id in owned}
    by_zone = answering_zones(
        {zone.name: {rrset.name for rrset in rrsets} - {zone.name} for zone, rrsets in owned.values()}
    )
    cuts = {zone.pk: (zone.name, set(by_zone[zone.name].values())) for zone, _ in owned.values() if by_zone[zone.name]}
    at_cuts = store_rrsets.rrsets_at_names(cuts) if cuts else {}
    for zone_id in cuts:
        zone, rrsets = owned[zone_id]
        for rrset in rrsets:
            by = by_zone[zone.name].get(rrset.name)
            if by is not None and is_shadowed(rrset, by, at_cuts[zone_id].get((by, rdtypes.NS))):
                found[zone_id][rrset.name, rrset.type] = by
    return found


def shadows_of(zone: Zone) -> tuple[dict[Key, str], bool]:
    """Return the zone's shadowed RRsets (see `shadowed_rrsets`), and True if not all zones below were checked.

    Only some zones below, and the first RRsets at and below each of them, are checked. Needs at most four queries.
    """
    below = zones_below(zone.name, _MOST_BELOW + 1)
    seen = sorted(below)[:_MOST_BELOW]
    rrsets = store_rrsets.rrsets_within(zone.pk, zone.name, seen, _MOST_RRSETS) if seen else []
    return (shadowed_rrsets(zone, rrsets) if rrsets else {}), len(below) > _MOST_BELOW


def shadowed_by_publication(revisions: Iterable[Revision]) -> list[Shadowed]:
    """Return the RRsets in these revisions that are shadowed now: name servers never return them.

    Only the first changes and some of the created or restored zones are checked. The revisions' zones must be loaded.
    """
    live = {revision.pk: revision.zone for revision in revisions if revision.zone.deleted_at is None}
    rows = Change.objects.filter(revision__in=list(live), after__isnull=False).order_by("revision", "owner_key", "type")
    owned: dict[int, tuple[Zone, list[RRset]]] = {}
    for row in rows[:_MOST_CHANGES]:
        zone, rrset = live[row.revision_id], rrset_after(row)
        assert rrset is not None
        owned.setdefault(zone.pk, (zone, []))[1].append(rrset)
    found = {zone_id: of_zone for zone_id, of_zone in shadowed_in(owned).items() if of_zone}
    came = [revision.zone for revision in revisions if revision.kind != RevisionKind.CHANGE and revision.pk in live]
    for zone in came[:_MOST_CAME]:
        found[zone.pk] = shadows_of(zone)[0]
    zones = {zone.pk: zone for zone in live.values()}
    return [
        Shadowed(zones[zone_id], name, type, by)
        for zone_id, of_zone in found.items()
        for (name, type), by in of_zone.items()
    ]


def zones_below(name: str, limit: int) -> list[str]:
    """Return up to `limit` live zones below a name, in no particular order."""
    return [below for _, _, below in _below([name], "false", {"own": [], "limit": limit})]


def zone_below_each(zone_names: Sequence[str], *, without: Collection[int]) -> dict[str, str]:
    """Return one live zone below each name, if there is one. Skip the zones whose ids are in `without`."""
    found = _below(zone_names, "false", {"own": list(without), "limit": 1}) if zone_names else ()
    return {name: below for name, _, below in found}


def _few_inside(zone_names: Sequence[str]) -> dict[str, set[str]]:
    """Return the live zones below each zone. Omit zones with more than _FEW_INSIDE zones below them."""
    if not zone_names:
        return {}
    inside: dict[str, set[str]] = {name: set() for name in zone_names}
    for name, _, below in _below(zone_names, "false", {"own": [], "limit": _FEW_INSIDE + 1}):
        inside[name].add(below)
    return {name: below for name, below in inside.items() if len(below) <= _FEW_INSIDE}


def _with_those_above(name: str) -> list[str]:
    """Return the name and all names above it, from the nearest to the root."""
    return [name, *ancestors_within(name, names.ROOT)]


def _inside(name: str, zone: str) -> Iterable[str]:
    """Yield the name and the names above it, up to but excluding the zone's apex."""
    return (at for at in (name, *ancestors_within(name, zone)) if at != zone)


def _closest(chains: Mapping[str, Iterable[str]], live: Collection[str]) -> dict[str, str]:
    """Return the first live name of each chain, keyed like `chains`. Omit chains without a live name."""
    closest = {name: next((at for at in chain if at in live), None) for name, chain in chains.items()}
    return {name: at for name, at in closest.items() if at is not None}


def _others_above(zone_names: Sequence[str], own: Collection[int], author: Author) -> dict[str, tuple[str, int, str]]:
    """Return each name's parent zone. Omit parent zones in which the author is allowed to change all records."""
    chains = {name: _with_those_above(name)[1:] for name in zone_names}
    may_change, parameters = _may_change(author)
    parameters |= {"above": list({above for chain in chains.values() for above in chain}), "own": list(own)}
    live = {name: (zone_id, is_mine) for name, zone_id, is_mine in fetch_all(_ABOVE.format(may_change), parameters)}
    return {
        name: ("below", live[above][0], above) for name, above in _closest(chains, live).items() if not live[above][1]
    }


def _others_below(zone_names: Sequence[str], own: Collection[int], author: Author) -> dict[str, tuple[str, int, str]]:
    """Return, for each name, one zone below it in which the author can't change all records, if there is one."""
    may_change, parameters = _may_change(author)
    found = _below(zone_names, may_change, parameters | {"own": list(own), "limit": 1})
    return {name: ("above", zone_id, below) for name, zone_id, below in found}


def _below(zone_names: Sequence[str], may_change: str, parameters: dict[str, Any]) -> list[tuple[str, int, str]]:
    """Run the query _BELOW. Each row has a name, and the id and the name of a zone below it."""
    ranges = [_backwards(name) for name in zone_names]
    parameters |= {
        "names": list(zone_names),
        "first": [first for first, _ in ranges],
        "behind": [behind for _, behind in ranges],
    }
    return list(fetch_all(_BELOW.format(may_change), parameters))


def _backwards(name: str) -> tuple[str, str]:
    """Return the first key and the end key of the names below `name` in the index of reversed names."""
    below = "." if name == names.ROOT else f".{name}"[::-1]
    return below, below[:-1] + "/"


def _may_change(author: Author) -> tuple[str, dict[str, Any]]:
    """Return an SQL condition that is true if the author can change all records of zone `z`, and its parameters."""
    actor = actor_of(author) if author is not None else None
    if actor is None:
        return "false", {}
    terms: list[str] = []
    parameters: dict[str, Any] = {}
    for number, (zones, teams, tags) in enumerate(_reach(actor)):
        terms.append(
            f"(z.id = ANY(%(zones{number})s::int[]) OR coalesce(z.team_id = ANY(%(teams{number})s::bigint[]), false)"
            f" OR z.tags && %(tags{number})s::text[])"
        )
        parameters |= {f"zones{number}": zones, f"teams{number}": teams, f"tags{number}": tags}
    return " AND ".join(terms) or "true", parameters


def _reach(actor: Actor) -> Iterable[tuple[list[int], list[int], list[str]]]:
    """Return the zones, teams and tags with unlimited grants, for each layer and right. Omit rights for all zones."""
    found = set()
    for layer in actor.layers:
        for right in RECORD_RIGHTS:
            giving = [grant for grant in layer if right in grant.rights and not grant.is_limited]
            if any(grant.everywhere for grant in giving):
                continue
            zones = frozenset[int]().union(*(grant.zones for grant in giving))
            teams = frozenset[int]().union(*(grant.teams for grant in giving))
            tags = frozenset[str]().union(*(grant.tags for grant in giving))
            found.add((zones, teams, tags))
    return [(sorted(zones), sorted(teams), sorted(tags)) for zones, teams, tags in found]
