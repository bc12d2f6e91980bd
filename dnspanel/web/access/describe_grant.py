"""Describe grants for lists of tokens and grants: the rights, their zones, and their limits."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from dnspanel.accounts.actors.actors import EVERY_RIGHT, RECORD_RIGHTS, Grant, Right
from dnspanel.accounts.models import Team
from dnspanel.texts import gettext, gettext_lazy, join_list, ngettext
from dnspanel.zones.rights import access
from replication.dns import rdata

MOST_NAMED = 3  # zones or patterns; further ones are counted

RIGHT_DESCRIPTIONS = {
    Right.READ: gettext_lazy("see records"),
    Right.ADD: gettext_lazy("add records"),
    Right.CHANGE: gettext_lazy("change records"),
    Right.REMOVE: gettext_lazy("delete records"),
    Right.CREATE_ZONE: gettext_lazy("create zones"),
    Right.DELETE_ZONE: gettext_lazy("delete zones"),
    Right.SETTINGS: gettext_lazy("change tags and team"),
    Right.DNSSEC: gettext_lazy("sign zones and change DNSSEC keys"),
    Right.TEMPLATES: gettext_lazy("create and change templates"),
    Right.EXPORT_KEYS: gettext_lazy("read private DNSSEC keys"),
    Right.GOVERN: gettext_lazy("set approval rules and freezes"),
}


@dataclass(frozen=True, slots=True)
class GrantDescription:
    """A grant as text for a page: its rights, its zones and its limits."""

    what: str
    where: str
    limits: str  # empty: any name, any type


@dataclass(frozen=True, slots=True)
class GrantDescriber:
    """Converter from grants to text, with the names of the grants' zones and teams. Create one per list of grants."""

    zone_names: Mapping[int, str]
    team_names: Mapping[int, str]

    def of(self, grant: Grant) -> GrantDescription:
        return GrantDescription(what_of(grant.rights), self._where(grant), limits_of(grant))

    def of_all(self, stored: Iterable[Any]) -> tuple[GrantDescription, ...]:
        """Return the descriptions of grants stored as JSON."""
        return tuple(self.of(Grant.from_json(each)) for each in stored)

    def _where(self, grant: Grant) -> str:
        if grant.everywhere:
            return gettext("all zones")
        known = sorted(self.zone_names[pk] for pk in grant.zones if pk in self.zone_names)
        parts = [shorten_list(known)] if known else []
        if hidden := len(grant.zones) - len(known):
            parts.append(
                ngettext("{hidden} zone that you can’t see", "{hidden} zones that you can’t see", hidden).format(
                    hidden=hidden
                )
            )
        parts += [gettext("zones tagged {tag}").format(tag=tag) for tag in sorted(grant.tags)]
        parts += [
            gettext("zones in team {pk}").format(pk=self.team_names.get(pk, gettext("(deleted)")))
            for pk in sorted(grant.teams)
        ]
        return join_list(parts) if parts else gettext("no zones")


def describer_for(person: access.Person, grants: Iterable[Grant]) -> GrantDescriber:
    """Return a describer for these grants, in at most two queries. It omits zone names that the person can't see."""
    listed = list(grants)
    zone_ids = {pk for grant in listed for pk in grant.zones}
    team_ids = {pk for grant in listed for pk in grant.teams}
    zones = access.zones_visible_to(person).filter(pk__in=zone_ids) if zone_ids else None
    teams = Team.objects.filter(pk__in=team_ids) if team_ids else None
    return GrantDescriber(
        dict(zones.values_list("pk", "name")) if zones is not None else {},
        dict(teams.values_list("pk", "name")) if teams is not None else {},
    )


def what_of(rights: Collection[Right]) -> str:
    """Return the rights as text, such as `see records`, `edit records` or `everything`."""
    remaining = frozenset(rights)
    if remaining == EVERY_RIGHT:
        return gettext("everything")
    parts = []
    if remaining > EVERY_RIGHT:
        parts, remaining = [gettext("everything")], remaining - EVERY_RIGHT
    if remaining >= RECORD_RIGHTS:
        parts, remaining = [gettext("edit records")], remaining - RECORD_RIGHTS - {Right.READ}
    parts = [RIGHT_DESCRIPTIONS[right] for right in Right if right == Right.READ and right in remaining] + parts
    parts += [RIGHT_DESCRIPTIONS[right] for right in Right if right != Right.READ and right in remaining]
    return ", ".join(map(str, parts)) or gettext("nothing")


def limits_of(grant: Grant) -> str:
    """Return the names and types that the grant is limited to, as text, or "" if the grant has no limits."""
    parts = []
    if grant.names:
        parts.append(gettext("names: {names}").format(names=shorten_list(grant.names)))
    if grant.types:
        parts.append(
            gettext("types: {list}").format(list=", ".join(rdata.type_to_text(each) for each in sorted(grant.types)))
        )
    return "; ".join(parts)


def shorten_list(texts: Collection[str]) -> str:
    """Join the first MOST_NAMED strings with commas, and append the number of the remaining ones."""
    first = list(texts)[:MOST_NAMED]
    more = len(texts) - len(first)
    names = ", ".join(first)
    return gettext("{names} and {more} more").format(names=names, more=more) if more else names
