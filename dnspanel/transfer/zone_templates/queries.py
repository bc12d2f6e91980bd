"""Find a template's linked zones, a zone's templates, and the differences between template versions."""

import difflib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from django.db.models import F

from dnspanel.accounts.actors.actors import Person
from dnspanel.transfer.zone_templates.access import templates_visible_to
from dnspanel.transfer.zone_templates.template_content import variables_stored
from dnspanel.zones.lists.queries import Page
from dnspanel.zones.models import TemplateKind, TemplateLink, TemplateVersion, Zone, ZoneTemplate
from dnspanel.zones.rights import access
from dnspanel.zones.settings.server_sets import newest_set
from dnspanel.zones.store.store_rrsets import rrsets_at_names
from replication.dns import rdtypes

ROWS = 100
_DIFFED_LINES = 400  # per text; difflib's time for hostile texts grows faster than the product of both sizes


@dataclass(frozen=True, slots=True)
class LinkedZone:
    name: str
    version: int
    is_behind: bool
    is_drafted: bool  # the version was applied in a person's draft
    at: datetime


def linked_page(*, template: ZoneTemplate, user: Person, after: str = "", limit: int = ROWS) -> Page[LinkedZone]:
    """Return linked zones that this person can see, sorted by name and after the name `after`. Makes two queries."""
    links = TemplateLink.objects.filter(template=template, zone__in=access.zones_visible_to(user))
    links = links.annotate(zone_name=F("zone__name")).order_by("zone_name")
    if after:
        links = links.filter(zone_name__gt=after)
    found = list(links[: limit + 1])
    rows = tuple(
        LinkedZone(link.zone_name, link.version, link.version < template.version, link.before is not None, link.at)
        for link in found[:limit]
    )
    return Page(rows, rows[-1].name if len(found) > limit else "")


def linked_count(template: ZoneTemplate) -> int:
    """Count all zones linked to the template, visible or not, except zones in the trash."""
    return TemplateLink.objects.filter(template=template, zone__deleted_at=None).count()


def links_of(zone: Zone, person: Person) -> list[TemplateLink]:
    """Return the zone's links to templates that this person is allowed to see, sorted by template name."""
    links = TemplateLink.objects.filter(zone=zone, template__in=templates_visible_to(person).order_by())
    return list(links.select_related("template").order_by("template__name", "pk"))


@dataclass(frozen=True, slots=True)
class FollowedSet:
    """A zone's linked set of name servers, and its differences from the apex: the zone lacks the servers in `fewer`."""

    link: TemplateLink
    more: tuple[str, ...] = ()  # name servers of the zone that the set lacks
    fewer: tuple[str, ...] = ()
    soa_differs: bool = False

    @property
    def differs(self) -> bool:
        return bool(self.more or self.fewer or self.soa_differs)


def set_of(zone: Zone, person: Person) -> FollowedSet | None:
    """Return the zone's linked set of name servers that this person can see, or None. This takes three queries."""
    link = next((link for link in links_of(zone, person) if link.template.kind == TemplateKind.SERVERS), None)
    newest = None if link is None else newest_set(link.template)
    if link is None or newest is None:
        return None
    apex = rrsets_at_names({zone.pk: (zone.name, {zone.name})})[zone.pk]
    nameservers, soa = apex.get((zone.name, rdtypes.NS)), apex.get((zone.name, rdtypes.SOA))
    found = () if nameservers is None else nameservers.folded.served
    return FollowedSet(
        link,
        tuple(name for name in found if name not in newest.servers.names),
        tuple(name for name in newest.servers.names if name not in found),
        soa is not None and newest.servers.named_in(soa.folded) != soa.folded,
    )


def text_diff(before: TemplateVersion, after: TemplateVersion) -> list[tuple[str, str]]:
    """Compare two versions. Return pairs (kind, line) with kind "is-delete", "is-add" or "is-same".

    Each variable is a line after the text. If a text is very long, all deleted lines come first.
    """
    one, other = _lines(before), _lines(after)
    if max(len(one), len(other)) > _DIFFED_LINES:
        gone, new = set(one) - set(other), set(other) - set(one)
        return [("is-delete", line) for line in one if line in gone] + [
            ("is-add" if line in new else "is-same", line) for line in other
        ]
    return list(_diff(one, other))


def _diff(one: list[str], other: list[str]) -> Iterator[tuple[str, str]]:
    matcher = difflib.SequenceMatcher(a=one, b=other, autojunk=False)
    for tag, start, end, other_start, other_end in matcher.get_opcodes():
        if tag == "equal":
            yield from (("is-same", line) for line in one[start:end])
            continue
        yield from (("is-delete", line) for line in one[start:end])
        yield from (("is-add", line) for line in other[other_start:other_end])


def _lines(version: TemplateVersion) -> list[str]:
    declared = [
        f"{{{{ {each.name} }}}} {each.kind} “{each.label}”" + (f" = {each.default}" if each.default else "")
        for each in variables_stored(version)
    ]
    return [*version.text.split("\n"), *declared]
