"""Use templates for new zones, in drafts and in publications, and link zones to templates. Verbs."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction

from dnspanel.accounts.actors.actors import Author, Right
from dnspanel.accounts.audit import audit
from dnspanel.accounts.models import Team
from dnspanel.texts import gettext
from dnspanel.transfer.zone_templates.compare_template import RRsets, Step, add_beside, compare
from dnspanel.transfer.zone_templates.template_content import Made, make_version, version_of
from dnspanel.zones.acting import Acting
from dnspanel.zones.drafts import draft
from dnspanel.zones.errors import RightMissing, TemplateRefused, TemplateUnknown
from dnspanel.zones.lists import rrset_pages
from dnspanel.zones.models import Publication, TemplateKind, TemplateLink, TemplateVersion, Zone, ZoneTemplate
from dnspanel.zones.publishing import edit, zone_patches
from dnspanel.zones.rights import access
from dnspanel.zones.settings.server_sets import ServerSet, link_new_zones
from dnspanel.zones.settings.template_text import LONGEST_VALUE, Fault
from dnspanel.zones.store import store_rrsets
from replication.dns import rdtypes
from replication.dns.rrset import Key, RRset

Values = Mapping[str, str]

MOST_BEFORE = 5  # earlier versions that a zone's link can have
MOST_NEW_ZONES = 100  # that one form can create from a template, because each zone is expanded and checked


@dataclass(frozen=True, slots=True)
class Using:
    """A template version with values for its variables."""

    template: ZoneTemplate
    version: TemplateVersion
    values: Values

    @property
    def is_snippet(self) -> bool:
        return self.template.kind == TemplateKind.SNIPPET

    def make_content(self, zone_name: str, name: str = "") -> Made:
        """Return the RRsets for a zone. A snippet is placed at `name`, which is inside the zone."""
        return make_version(self.version, self.values, zone=zone_name, name=name)


@dataclass(frozen=True, slots=True)
class Proposal:
    """A template's changes to a zone, compared with the author's draft of the zone or with the published zone.

    If the template has faults, `steps` is empty.
    """

    steps: tuple[Step, ...] = ()
    faults: tuple[Fault, ...] = ()


def using(template: ZoneTemplate, values: Values, number: int | None = None) -> Using:
    """Return a version of the template, by default the newest, together with values for its variables.

    Empty values and values for unknown variables are ignored. Raise TemplateUnknown if the version does not exist, and
    TemplateRefused if a value is too long.
    """
    try:
        version = version_of(template, number)
    except TemplateVersion.DoesNotExist as exc:
        raise TemplateUnknown from exc
    known = {variable["name"] for variable in version.variables}
    kept = {name: value for name, value in values.items() if name in known and value}
    long = [name for name, value in kept.items() if len(value) > LONGEST_VALUE]
    if long:
        raise TemplateRefused(
            {
                name: [gettext("Enter at most {longest_value:,} characters.").format(longest_value=LONGEST_VALUE)]
                for name in long
            }
        )
    return Using(template, version, kept)


def propose(*, use: Using, zone: Zone, author: draft.Drafter, name: str = "", drafted: bool = True) -> Proposal:
    """Return the template's changes to a zone without writing them. A snippet's records are at `name`.

    The template is compared with the zone in the author's draft, or with the published zone if `drafted` is False.
    Raise RightMissing if the author isn't allowed to see one of the RRsets.
    """
    made = use.make_content(zone.name, name)
    if made.faults:
        return Proposal(faults=made.faults)
    if use.is_snippet:
        wanted = made.by_key
        return Proposal(tuple(add_beside(_now(zone, author, wanted, drafted=drafted), wanted)))
    bases = bases_of(
        link_of(zone, use.template),
        lambda number, values: make_version(version_of(use.template, number), values, zone=zone.name),
    )
    current = _now(zone, author, keys_of(made, *bases, apex=zone.name), drafted=drafted)
    return Proposal(tuple(compare_made(current, made, bases, apex=zone.name)))


def draft_steps(
    *, use: Using, zone: Zone, steps: Sequence[Step], author: draft.Drafter, now: datetime, keep: bool | None = None
) -> int:
    """Add these steps to the author's draft, and return the number of operations.

    `keep` links the zone to the template (True), removes the link (False), or only updates an existing link (None). A
    snippet is never linked. Raise Forbidden if the author is not allowed to change the zone. Exceptions of
    `draft.change_rrsets` propagate.
    """
    access.require_editor(author, zone)
    afters = {step.change.key: step.change.after for step in steps if step.changes}
    drafted = draft.change_rrsets(author=author, zone=zone, afters=afters, now=now)
    if keep is False:
        unlink(zone=zone, template=use.template, by=author, now=now)
    elif (keep or link_of(zone, use.template) is not None) and not use.is_snippet:
        _link_drafted(use, zone, author, now)
    return len(drafted)


def publish_steps(  # noqa: PLR0913  # what is published, and what a person confirmed
    *,
    use: Using,
    zone: Zone,
    steps: Sequence[Step],
    acting: Acting,
    keep: bool | None = None,
    accept_warnings: bool = True,
    confirmed: bool = True,
) -> zone_patches.Outcome:
    """Publish these steps as one publication. The steps must have been proposed for the zone's current revision.

    `keep` is as in `draft_steps`, and the link changes in the same transaction. `accept_warnings`, `confirmed` and
    exceptions are as in `zone_patches.publish_patches`. Also raise Forbidden if the author is not allowed to change the
    zone.
    """
    author, now = acting.author, acting.now
    access.require_editor(author, zone)
    changes = {step.change.key: step.change.after for step in steps if step.changes}

    def in_transaction() -> None:
        if keep is False:
            unlink(zone=zone, template=use.template, by=author, now=now)
        elif (keep or link_of(zone, use.template) is not None) and not use.is_snippet:
            _link_published(use, zone, author, now)

    patch = zone_patches.Patch(zone, lambda current: changes, {name for name, _ in changes}, zone.revision)
    return zone_patches.publish_patches(
        patches=[patch],
        acting=acting,
        accept_warnings=accept_warnings,
        confirmed=confirmed,
        in_transaction=in_transaction,
    )


def _link_published(use: Using, zone: Zone, author: Author, now: datetime) -> None:
    """Record that the zone is linked to the template and has this version's RRsets."""
    applied = {"version": use.version.number, "values": dict(use.values), "before": None}
    found = TemplateLink.objects.filter(zone=zone, template=use.template)
    if found.filter(**applied).exists():
        return
    TemplateLink.objects.update_or_create(defaults={**applied, "at": now}, zone=zone, template=use.template)
    leave_other_sets(use.template, [zone.pk])
    _record_link(use, zone, author, now)


def create_zones_from(
    *,
    use: Using,
    zones: Sequence[edit.NewZone],
    keep: bool,
    acting: Acting,
    team: Team | None = None,
    server_set: ServerSet | None = None,
) -> Publication:
    """Create zones, which must already have the template's RRsets (see `with_template`).

    `keep` links the zones to the template. Exceptions of `edit.create_zones` propagate.
    """

    def in_transaction() -> None:
        if keep:
            link_new_zones(
                template_id=use.template.pk,
                version=use.version.number,
                zone_names=[zone.name for zone in zones],
                now=acting.now,
                values=use.values,
            )
            audit.record(
                action="template.link",
                by=acting.author,
                now=acting.now,
                target=use.template.name,
                version=use.version.number,
                new_zones=len(zones),
            )

    return edit.create_zones(
        zones=zones, acting=acting, team=team, server_set=server_set, in_transaction=in_transaction
    )


def with_template(use: Using, zone: edit.NewZone) -> tuple[edit.NewZone, tuple[Fault, ...]]:
    """Put the template's RRsets into a new zone, replacing equal keys. Return zone and faults (one for a snippet)."""
    if use.is_snippet:
        return zone, (Fault(0, 0, gettext("A snippet adds records at a name and can’t create zones.")),)
    made = use.make_content(zone.name)
    by_key: dict[Key, RRset] = {(rrset.name, rrset.type): rrset for rrset in zone.rrsets or ()}
    return edit.NewZone(zone.name, tuple((by_key | made.by_key).values())), made.faults


def unlink(*, zone: Zone, template: ZoneTemplate, by: Author, now: datetime) -> None:
    """Remove the link between a zone and the template. The zone's records stay. A second call changes nothing.

    Raise Forbidden if the author is not allowed to change the zone.
    """
    access.require_editor(by, zone)
    with transaction.atomic():
        if TemplateLink.objects.filter(zone=zone, template=template).delete()[0]:
            audit.record(action="template.unlink", by=by, now=now, target=zone.name, template=template.name)


def link_of(zone: Zone, template: ZoneTemplate) -> TemplateLink | None:
    """Return the zone's link to the template, or None if they aren't linked."""
    return TemplateLink.objects.select_related("template").filter(zone=zone, template=template).first()


def keys_of(*made: Made, apex: str) -> set[Key]:
    """Return the keys of all RRsets that the templates create, and of the SOA if a template sets names in it."""
    soa = {(apex, rdtypes.SOA)} if any(each.names_in_soa for each in made) else set()
    return soa.union(*(each.by_key for each in made))


def compare_made(current: RRsets, made: Made, bases: Sequence[Made], *, apex: str) -> list[Step]:
    """Return the steps that make a zone match the template, including the name servers in the zone's SOA."""
    soa = apex, rdtypes.SOA
    wanted, left = made.over(current, apex), [base.over(current, apex) for base in bases]
    for base in left:
        # A version that does not set names in the SOA cannot conflict with the SOA.
        if soa not in wanted:
            base.pop(soa, None)
        elif soa not in base:
            base[soa] = current[soa]
    return compare(current, wanted, left, apex=apex)


def bases_of(link: TemplateLink | None, make: Callable[[int, Values], Made]) -> list[Made]:
    """Return the RRsets of each linked version of a template, current or earlier. Return [] if `link` is None.

    `make` expands a version. If an old version violates current rules, none of its RRsets count as the template's.
    """
    if link is None:
        return []
    states = [{"version": link.version, "values": link.values}, *(link.before or ())]
    return [make(each["version"], each["values"]) if each else Made(()) for each in states]


def leave_other_sets(template: ZoneTemplate, zone_ids: Collection[int]) -> None:
    """Unlink the zones from all other sets of name servers, if this template is such a set."""
    if template.kind == TemplateKind.SERVERS:
        others = TemplateLink.objects.filter(zone__in=zone_ids, template__kind=TemplateKind.SERVERS)
        others.exclude(template=template).delete()


def _link_drafted(use: Using, zone: Zone, author: Author, now: datetime) -> None:
    """Link the zone to the template in a draft. Until it is published, comparisons also use earlier versions."""
    with transaction.atomic():
        link = TemplateLink.objects.select_for_update().filter(zone=zone, template=use.template).first()
        applied = {"version": use.version.number, "values": dict(use.values)}
        leave_other_sets(use.template, [zone.pk])
        if link is None:
            TemplateLink.objects.create(zone=zone, template=use.template, before=[{}], at=now, **applied)
        elif {"version": link.version, "values": link.values} == applied:
            return
        else:
            earlier = [*(link.before or ()), {"version": link.version, "values": link.values}]
            before = earlier[-MOST_BEFORE:]
            TemplateLink.objects.filter(pk=link.pk).update(before=before, at=now, **applied)
        _record_link(use, zone, author, now)


def _record_link(use: Using, zone: Zone, author: Author, now: datetime) -> None:
    audit.record(
        action="template.link", by=author, now=now, target=use.template.name, version=use.version.number, zone=zone.name
    )


def _now(zone: Zone, author: draft.Drafter, keys: Collection[Key], *, drafted: bool) -> dict[Key, RRset]:
    """Return the drafted or published RRsets with these keys. Raise RightMissing if the author can't see them all."""
    sees = access.visibility_of(author, zone)
    for key in sorted(keys):
        if sees is not None and not sees(*key):
            raise RightMissing(Right.READ, zone.name, *key)
    if not drafted:
        published = store_rrsets.rrsets_at_names({zone.pk: (zone.name, {name for name, _ in keys})})[zone.pk]
        return {key: rrset for key, rrset in published.items() if key in keys}
    rows = rrset_pages.rrset_rows(zone=zone, author=draft.person(author), keys=keys)
    return {row.change.key: row.change.after for row in rows if row.change.after is not None}
