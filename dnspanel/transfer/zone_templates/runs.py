"""Update zones to a template version, in batches: first a dry run, then a real run. Verbs.

A run covers the zones that are linked to the template, or the zones that a search finds. Each batch is one publication,
which can be undone like any other. RRsets that were edited manually stay unless the run overwrites them.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet

from dnspanel.accounts.actors.actors import Author, Permission, Person, can
from dnspanel.advisory_locks import Lock
from dnspanel.database.first_rows import first_or
from dnspanel.texts import gettext, gettext_noop, joined
from dnspanel.transfer.signals import template_run_begun
from dnspanel.transfer.zone_templates.access import template_for, templates_visible_to
from dnspanel.transfer.zone_templates.compare_template import Act, Outcome, RRsets, Step
from dnspanel.transfer.zone_templates.template_content import Made, make_version, version_of
from dnspanel.transfer.zone_templates.use import Values, bases_of, compare_made, keys_of, leave_other_sets, using
from dnspanel.zones.acting import Acting
from dnspanel.zones.errors import (
    Conflicts,
    Forbidden,
    HookRefused,
    RevisionMoved,
    RightMissing,
    RuleViolations,
    TemplateRefused,
    TemplateRunUnknown,
    TemplateUnknown,
    Unknown,
)
from dnspanel.zones.governance import publish_guards
from dnspanel.zones.governance.parts import Part
from dnspanel.zones.lists.queries import found_zones
from dnspanel.zones.log import panel_reasons
from dnspanel.zones.models import (
    Channel,
    RevisionKind,
    TemplateKind,
    TemplateLink,
    TemplateRun,
    TemplateRunZone,
    TemplateVersion,
    Zone,
    ZoneTemplate,
)
from dnspanel.zones.plan.merge import Changes, Edit
from dnspanel.zones.plan.plan import ZonePlan, plan_zones
from dnspanel.zones.publishing.zone_patches import Patch, publish_patches
from dnspanel.zones.rights import access
from dnspanel.zones.rules.rules import BREAKING_DS
from dnspanel.zones.runs import run_turns
from dnspanel.zones.store import store_rrsets
from replication.dns import names as owner_names
from replication.dns import rdata
from replication.dns.rrset import Change

# Zones per publication. The template is expanded for each of them.
BATCH = 100
# The largest number of zones that a run lists for each outcome. All zones are counted.
MOST_LISTED: Mapping[str, int] = {Outcome.REFUSED: 1000, Outcome.CONFLICT: 1000, Outcome.CHANGE: 200, Outcome.SAME: 0}
# Messages about the RRsets of a zone.
_ADDED, _CHANGED, _REMOVED = (
    gettext_noop("{count} added"),
    gettext_noop("{count} changed"),
    gettext_noop("{count} removed"),
)


@dataclass(frozen=True, slots=True)
class Found:
    """A run's result for one zone: the outcome, and the changes to publish."""

    outcome: Outcome
    message: str = ""
    changes: Changes | None = None  # None: nothing is published, and the zone's link does not change
    conflicts: int = 0


def create_run(  # noqa: PLR0913  # the fields of a run
    *,
    template: ZoneTemplate,
    by: Author,
    now: datetime,
    search: str | None = None,
    names: Sequence[str] = (),
    values: Values | None = None,
    keep: bool = False,
    form_id: UUID | None = None,
) -> TemplateRun:
    """Create a dry run of the template's newest version, for a worker to process.

    By default, the run covers the linked zones, with the values stored in their links. If `search` is given (as in the
    list of zones; "" finds all), the run covers the matching zones, or only those in `names`. It then uses `values`,
    and `keep` links the zones to the template.

    Raise Forbidden if the author isn't allowed to change any zone, or TemplateUnknown if the template was deleted.
    Raise TemplateRefused for a snippet or wrong values, or RunRefused if the author has several unfinished runs.
    """
    _require_editor(by)
    if by is not None:
        template = template_for(by, template.pk)
    if template.kind == TemplateKind.SNIPPET:
        raise TemplateRefused({"template": [gettext("A snippet adds records at a name and can’t be linked to zones.")]})
    use = using(template, values or {})
    if search is not None and (faults := use.make_content("example.com.").faults):
        raise TemplateRefused({fault.variable or "template": [str(fault)] for fault in faults})
    run = TemplateRun(
        template=template,
        version=use.version.number,
        search=None if search is None else search.strip(),
        names=list(names),
        values=dict(use.values),
        keep=keep and search is not None,
        dry_run=True,
    )
    return _begin(run, by, now, form_id)


def start_run(
    *, dry_run: TemplateRun, by: Author, now: datetime, overwrite: bool = False, form_id: UUID | None = None
) -> TemplateRun:
    """Create a real run with the dry run's version, zones and values, for a worker to process.

    `overwrite` also replaces RRsets that were edited manually. Raise RunRefused unless the dry run ended successfully,
    or if the author has several unfinished runs. Raise TemplateUnknown or Forbidden like `create_run`.
    """
    _require_editor(by)
    run_turns.refuse_unless_done(dry_run)
    if by is not None:
        template_for(by, dry_run.template_id)
    run = TemplateRun(
        template=dry_run.template,
        version=dry_run.version,
        search=dry_run.search,
        names=dry_run.names,
        values=dry_run.values,
        keep=dry_run.keep,
        overwrite=overwrite,
        dry_run=False,
        dry_run_of=dry_run,
    )
    return _begin(run, by, now, form_id)


def _begin(run: TemplateRun, by: Author, now: datetime, form_id: UUID | None) -> TemplateRun:
    return run_turns.begin(
        run,
        by=by,
        now=now,
        form_id=form_id,
        begun=template_run_begun,
        action="template.run",
        target=f"{run.template.name} version {run.version}",
    )


def cancel_run(*, run: TemplateRun, by: Author, now: datetime) -> None:
    """Cancel the run after the current batch. Published changes stay. Raise RunRefused if it has ended."""
    run_turns.cancel(run, by=by, now=now, action="template.run_cancel")


def may_begin_runs(person: Person) -> bool:
    """Return True if this person has the permission to edit records, which runs require."""
    return can(person, Permission.EDIT)


def _require_editor(by: Author) -> None:
    if by is not None and not may_begin_runs(by):
        raise Forbidden(Permission.EDIT)


def runs_visible_to(person: Person) -> "QuerySet[TemplateRun]":
    """Return the person's runs (for a token, its own runs) of templates that are still visible, newest first."""
    runs = run_turns.own_runs(TemplateRun, person).select_related("template", "author")
    return runs.filter(template__in=templates_visible_to(person).order_by())


def run_for(person: Person, run_id: int) -> TemplateRun:
    """Return the run with this id. Raise TemplateRunUnknown if the person isn't allowed to see it."""
    return first_or(runs_visible_to(person).filter(pk=run_id), TemplateRunUnknown)


def work_on_run(run_id: int, *, batch: int = BATCH, seconds: float = run_turns.TURN_SECONDS) -> bool:
    """Work on the run for at most about `seconds`, `batch` zones at a time. Return True if more work is left."""
    return run_turns.work(
        TemplateRun.objects.select_related("author", "token", "template"),
        run_id,
        lock=Lock.TEMPLATE_RUN,
        take_batch=lambda run: _take_batch(run, batch),
        seconds=seconds,
    )


def _take_batch(run: TemplateRun, batch: int) -> bool:
    """Process the run's next zones. Return True if more can follow. Raise Forbidden without access to the template."""
    author = run_turns.author_of(run)
    if author is not None:
        try:
            template_for(author, run.template_id)
        except TemplateUnknown as exc:
            raise Forbidden(
                Permission.EDIT, gettext("The person who started the run no longer has access to the template.")
            ) from exc
    return run_turns.take_zones(
        run,
        _zones_of_run(run, author),
        batch=batch,
        carry_out=lambda zones, now: _Batch(run, zones, author, now).carry_out(),
        moved=(Unknown, RightMissing, RevisionMoved, Conflicts, RuleViolations),  # a zone was changed, deleted or moved
        too_fast=gettext("The zones are changing faster than the template can be applied."),
    )


def _zones_of_run(run: TemplateRun, author: Author) -> "QuerySet[Zone]":
    zones = Zone.objects.filter(deleted_at=None) if author is None else access.zones_visible_to(author)
    if run.names:
        return zones.filter(name__in=run.names)
    if run.search is not None:
        return found_zones(zones, run.search)
    return zones.filter(pk__in=TemplateLink.objects.filter(template=run.template_id).values("zone_id"))


class _Batch:
    """One batch of zones in a run. Each kind of data is read with one query for the whole batch."""

    def __init__(self, run: TemplateRun, zones: Sequence[Zone], author: Author, now: datetime) -> None:
        self._run, self._zones, self._author, self._now = run, zones, author, now
        self._versions: dict[int, TemplateVersion] = {}
        links = TemplateLink.objects.filter(template=run.template_id, zone__in=[zone.pk for zone in zones])
        self._links = {link.zone_id: link for link in links}

    def carry_out(self) -> None:
        """Publish the batch's changes in one publication, and record the results. A dry run only records the results.

        Zones that a publish hook refuses are recorded as refused, and the other zones are published. Raise
        RightMissing, RevisionMoved or another error if a zone or the author's rights changed since the zones were read.
        """
        found = self._find_changes()
        refusal: HookRefused | None = None
        while True:
            try:
                self._publish(found)
                return
            except HookRefused as exc:
                if refusal is not None and refusal.zones == exc.zones:
                    raise
                refusal = exc
                found |= {pk: Found(Outcome.REFUSED, str(exc)) for pk in exc.zones}

    def _publish(self, found: Mapping[int, Found]) -> None:
        patches = [self._patch(zone, found[zone.pk]) for zone in self._zones if found[zone.pk].changes]
        if self._run.dry_run or not patches:
            with transaction.atomic(durable=True):
                self._advance(found)
            return
        channel = Channel.API if self._run.by_token else Channel.WEB
        outcome = publish_patches(
            patches=patches,
            acting=Acting(self._author, channel, self._now, self._reason),
            confirmed=self._changes_servers,
            in_transaction=lambda: self._advance(found),
        )
        if outcome.publication is not None:
            run_turns.note_publications(self._run, [outcome.publication.sequence])

    @property
    def _changes_servers(self) -> bool:
        """True if the run applies a set of name servers.

        The guard then requires no confirmation, because the person who started the run has seen the dry run's result.
        """
        return self._run.template.kind == TemplateKind.SERVERS

    @property
    def _reason(self) -> str:
        return panel_reasons.TEMPLATE.format(
            name=self._run.template.name, version=self._run.version, number=self._run.pk
        )

    def _find_changes(self) -> dict[int, Found]:
        """Return each zone's outcome and changes, by zone id."""
        wanted = {zone.pk: self._make_version(self._run.version, self._values(zone), zone) for zone in self._zones}
        bases = {zone.pk: self._bases(zone) for zone in self._zones}
        keys = {zone.pk: keys_of(wanted[zone.pk], *bases[zone.pk], apex=zone.name) for zone in self._zones}
        present = store_rrsets.rrsets_at_names(
            {zone.pk: (zone.name, {name for name, _ in keys[zone.pk]}) for zone in self._zones}
        )
        found: dict[int, Found] = {}
        for zone in self._zones:
            made = wanted[zone.pk]
            if made.faults:
                found[zone.pk] = Found(Outcome.REFUSED, str(made.faults[0]))
            else:
                steps = compare_made(present[zone.pk], made, bases[zone.pk], apex=zone.name)
                found[zone.pk] = self._decide_zone(zone, steps)
        return found | self._refuse_changes(found, present)

    def _decide_zone(self, zone: Zone, steps: Sequence[Step]) -> Found:
        conflicts = [step for step in steps if step.act is Act.CONFLICT]
        taken = [step for step in steps if step.changes and (self._run.overwrite or step.act is not Act.CONFLICT)]
        if not self._may_see(zone, steps):
            return Found(Outcome.REFUSED, gettext("You don’t have permission to see all records in the zone."))
        acts = Counter(
            _ADDED if step.change.before is None else _REMOVED if step.change.after is None else _CHANGED
            for step in taken
        )
        parts = [gettext(each).format(count=acts[each]) for each in (_ADDED, _CHANGED, _REMOVED) if acts[each]]
        if conflicts:
            part = (
                gettext("Manual edits overwritten ({count}): {names}")
                if self._run.overwrite
                else gettext("Manual edits preserved ({count}): {names}")
            )
            parts.append(part.format(count=len(conflicts), names=_names(conflicts, zone)))
        changes = {step.change.key: step.change.after for step in taken}
        kept = bool(conflicts) and not self._run.overwrite
        outcome = Outcome.CONFLICT if kept else Outcome.CHANGE if changes else Outcome.SAME
        return Found(outcome, joined(", ", parts), changes, len(conflicts))

    def _may_see(self, zone: Zone, steps: Sequence[Step]) -> bool:
        sees = None if self._author is None else access.visibility_of(self._author, zone)
        return sees is None or all(sees(*step.change.key) for step in steps)

    def _refuse_changes(self, found: Mapping[int, Found], present: Mapping[int, RRsets]) -> dict[int, Found]:
        """Return results, by zone id, for zones whose changes the author's rights, rules or the guard don't allow."""
        edits: dict[int, tuple[Zone, list[Edit]]] = {}
        for zone in self._zones:
            if changes := found[zone.pk].changes:
                now = present[zone.pk]
                edits[zone.pk] = zone, [Edit(Change(*key, now.get(key), after)) for key, after in changes.items()]
        plans = plan_zones(edits, self._now, author=self._author) if edits else ()
        rules = publish_guards.rules_about([plan.zone for plan in plans])
        return {
            plan.zone.pk: Found(Outcome.REFUSED, reason)
            for plan in plans
            if (reason := self._refusal(plan) or self._refusal_of_rules(plan, rules))
        }

    def _refusal_of_rules(self, plan: ZonePlan, rules: publish_guards.Rules) -> str:
        if not rules:
            return ""
        part = Part(plan.zone.pk, RevisionKind.CHANGE, plan.changes)
        kept = publish_guards.refusals(rules.of(plan.zone), plan.zone, part, self._author, self._reason, (), self._now)
        return next(map(str, kept), "")

    def _refusal(self, plan: ZonePlan) -> str:
        try:
            access.refuse_changes(self._author, plan.zone, plan.changes)
        except RightMissing as exc:
            return str(exc)
        if plan.errors:
            return plan.errors[0].message
        if breaking := [each for each in plan.warnings if each.code == BREAKING_DS]:
            return breaking[0].message
        if not plan.guard or self._changes_servers:
            return ""
        return gettext("{reason} Apply the template on the zone’s page.").format(reason=plan.guard[0])

    def _patch(self, zone: Zone, found: Found) -> Patch:
        changes = found.changes or {}
        return Patch(zone, lambda current: changes, {name for name, _ in changes}, zone.revision)

    def _values(self, zone: Zone) -> Values:
        link = self._links.get(zone.pk)
        values: Values = self._run.values if link is None or self._run.search is not None else link.values
        return values

    def _bases(self, zone: Zone) -> list[Made]:
        return bases_of(self._links.get(zone.pk), lambda number, values: self._make_version(number, values, zone))

    def _make_version(self, number: int, values: Values, zone: Zone) -> Made:
        if number not in self._versions:
            self._versions[number] = version_of(self._run.template, number)
        return make_version(self._versions[number], values, zone=zone.name)

    def _advance(self, found: Mapping[int, Found]) -> None:
        """Record the batch's results. A real run also updates the links. Raise Stopped if the run's row has changed."""
        run = self._run
        noted = ((zone, found[zone.pk].outcome, found[zone.pk].message) for zone in self._zones)
        listed = run_turns.advance(run, self._zones, noted, MOST_LISTED)
        TemplateRunZone.objects.bulk_create(
            TemplateRunZone(run=run, zone_name=zone.name, outcome=outcome, message=message)
            for zone, outcome, message in listed
        )
        if not run.dry_run:
            self._link([zone for zone in self._zones if found[zone.pk].changes is not None])

    def _link(self, zones: Sequence[Zone]) -> None:
        linked = [zone for zone in zones if zone.pk in self._links or self._run.keep]
        TemplateLink.objects.bulk_create(
            [
                TemplateLink(
                    zone=zone,
                    template=self._run.template,
                    version=self._run.version,
                    values=dict(self._values(zone)),
                    at=self._now,
                )
                for zone in linked
            ],
            update_conflicts=True,
            unique_fields=["template", "zone"],
            update_fields=["version", "values", "before", "at"],
        )
        leave_other_sets(self._run.template, [zone.pk for zone in linked])


def _names(steps: Sequence[Step], zone: Zone) -> str:
    """Return the first five steps' names and types as text, such as `A www, MX @`."""
    listed = [
        f"{rdata.type_to_text(s.change.type)} {owner_names.owner_text(s.change.name, zone.name)}" for s in steps[:5]
    ]
    return ", ".join(listed) + (", …" if len(steps) > 5 else "")
