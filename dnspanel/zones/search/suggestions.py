"""Complete the last word of a search: filters and their values. Find a zone or RRsets whose full name is typed."""

from dataclasses import dataclass
from itertools import chain, islice

from dnspanel.accounts.actors.actors import Person, Right, actor_of
from dnspanel.accounts.models import Team
from dnspanel.zones.models import RRset as StoredRRset
from dnspanel.zones.models import Zone
from dnspanel.zones.rights.access import closest_zones_visible_to, zones_visible_to
from dnspanel.zones.search.terms import CHOICES, FILTERS, LONGEST_SEARCH, NOBODY, WARNING, Filter
from dnspanel.zones.store.store_rrsets import rrset_of
from replication.codec import keys
from replication.dns import names, rdtypes
from replication.dns.rrset import RRset
from replication.errors import BadName

MOST_SUGGESTED = 12
_ZONES_LOOKED_AT = 2_000  # zones whose tags are read

_EXAMPLES: dict[Filter, tuple[str, ...]] = {
    Filter.CHANGED: ("today", "<7d", ">30d"),
    Filter.QUERIED: ("<7d", ">90d"),
    Filter.TTL: ("<300", "300", "3600", ">1d"),
    Filter.OWNER: (NOBODY,),
    Filter.HAS: (WARNING,),
}


def suggestions(*, person: Person, text: str) -> list[str]:
    """Return several completions of the search text: its last word becomes a filter, or a value of a typed filter.

    The result is empty for an unknown filter. Tags are from a limited number of zones that the person can see. Teams
    are the person's own, or all teams if the person can see all zones. Needs at most one query.
    """
    before, _, word = text.rpartition(" ")
    begin = f"{before} " if before else ""
    sign = "-" if word.startswith("-") else ""
    name, colon, value = word.removeprefix("-").partition(":")
    if not colon:
        found = [f"{each}:" for each in FILTERS if name and each.startswith(name.lower())]
    elif name.lower() in FILTERS:
        kind = Filter(name.lower())
        matching = (each for each in _values(person, kind) if each.lower().startswith(value.strip('"').lower()))
        found = [f"{kind}:{_quote_value(each)}" for each in islice(matching, MOST_SUGGESTED)]
    else:
        found = []
    return [f"{begin}{sign}{each}" for each in found if len(begin) + len(each) < LONGEST_SEARCH]


def _values(person: Person, kind: Filter) -> list[str]:
    match kind:
        case Filter.TYPE:
            return sorted(rdtypes.type_to_text(type).lower() for type in rdtypes.SERVED_TYPES)
        case Filter.DNSSEC | Filter.SYNC | Filter.PRIMARY:
            return sorted(set(CHOICES[kind].values()))
        case Filter.TAG:
            tagged = zones_visible_to(person).exclude(tags=[]).values_list("tags", flat=True)[:_ZONES_LOOKED_AT]
            return sorted(set(chain.from_iterable(tagged)))
        case Filter.TEAM:
            return [*_teams(person), NOBODY]
    return list(_EXAMPLES.get(kind, ()))


def _teams(person: Person) -> list[str]:
    actor = actor_of(person)
    if actor is None:
        return []
    if actor.may_everywhere(Right.READ):
        return list(Team.objects.order_by("name").values_list("name", flat=True))
    return sorted(team.name for team in actor.teams)


def _quote_value(value: str) -> str:
    return f'"{value}"' if " " in value else value


@dataclass(frozen=True, slots=True)
class ExactMatch:
    """A zone, and the RRsets at the typed name. `rrsets` is empty if the typed name is the zone's name."""

    zone: Zone
    rrsets: tuple[RRset, ...] = ()


def exact_match(*, person: Person, text: str) -> ExactMatch | None:
    """Return the zone named `text`, or the RRsets at this name in the closest zone above it.

    Return None if nothing matches, or if the person can't see that zone. The final dot is optional. Needs at most three
    queries.
    """
    try:
        name = names.parse(text)
    except BadName:
        return None
    zone = closest_zones_visible_to(person, [name]).get(name)
    if zone is None or zone.name == name:
        return None if zone is None else ExactMatch(zone)
    rows = StoredRRset.objects.filter(zone=zone, owner_key=keys.relative_key(name, zone.name)).order_by("type")
    rrsets = tuple(rrset_of(row) for row in rows)
    return ExactMatch(zone, rrsets) if rrsets else None
