"""Publish a draft as one publication in the change log, with a revision of each zone. Verbs."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.utils import timezone

from dnspanel import rehearsal
from dnspanel.accounts.actors.actors import Author, SystemRight
from dnspanel.texts import gettext
from dnspanel.zones import errors
from dnspanel.zones.acting import Acting
from dnspanel.zones.dnssec.accepted_breaks import accept_break
from dnspanel.zones.drafts import draft, named_drafts
from dnspanel.zones.governance.publish_guards import NO_PASSAGE, Passage
from dnspanel.zones.governance.publish_hooks import after_hooks
from dnspanel.zones.log.history import revision_changes
from dnspanel.zones.log.sequence_log import NewRevision, append_publication, publication_of_form
from dnspanel.zones.models import Change as StoredChange
from dnspanel.zones.models import Draft, Operation, Publication, Revision, RevisionKind, SigningChange, Zone
from dnspanel.zones.plan import zone_quotas
from dnspanel.zones.plan.merge import Edit
from dnspanel.zones.plan.plan import ZonePlan, plan_zones
from dnspanel.zones.rights import access
from dnspanel.zones.rules.rules import BREAKING_DS
from dnspanel.zones.rules.violations import Severity, Violation
from dnspanel.zones.store import store_rrsets
from dnspanel.zones.store.find_zones import lock_zones
from dnspanel.zones.store.stored_changes import rrset_before
from dnspanel.zones.values import soa
from replication.dns import rdtypes
from replication.dns.rrset import Change

Accepted = bool | Collection[str]


@dataclass(frozen=True, slots=True)
class Consent:
    """A person's consent after reviewing the plans: the reason, accepted warnings and confirmations.

    `accept_warnings` is True, or the codes of the accepted warnings. A DS that breaks a zone of this panel must be
    accepted by its code and with a reason; then the publisher process allows it. `confirmed` is True if a person
    confirmed a change that the guard would stop. With `past_rules`, the author bypasses approval rules and freezes, and
    must give a reason.
    """

    reason: str = ""
    accept_warnings: Accepted = False
    confirmed: bool = False
    past_rules: bool = False


Consenting = Callable[[Sequence[ZonePlan]], Consent]  # raises an error to end the publication
Passing = Callable[[Sequence[ZonePlan]], Passage]  # raises an error to refuse the publication


def preview(
    *, author: draft.Drafter, zones: Sequence[Zone] | None = None, of: named_drafts.NamedDraft | None = None
) -> tuple[ZonePlan, ...]:
    """Return the plans that `publish` would carry out now with these arguments, for zones that the author can see."""
    drafted = draft.operations_of(author) if of is None else named_drafts.operations_seen(author, of.draft)
    chosen = _in_zones(drafted, zones)
    # A draft can outlive a grant, so zones that the author can no longer see are left out.
    alive = access.zones_visible_to(author).filter(pk__in=chosen.values("zone")).order_by("name")
    return plan_zones(_with_edits(alive, draft.edits_of(chosen)), timezone.now(), author=author)


def drafted_zones(*, author: draft.Drafter, of: named_drafts.NamedDraft | None = None) -> list[Zone]:
    """Return the zones that `preview` plans: zones with draft operations that the author can see."""
    drafted = draft.operations_of(author) if of is None else named_drafts.operations_seen(author, of.draft)
    return list(access.zones_visible_to(author).filter(pk__in=drafted.values("zone")))


def preview_of(of: Draft, *, author: Author) -> tuple[ZonePlan, ...]:
    """Return the plans for publishing the whole draft now, regardless of the viewer's rights."""
    chosen = Operation.objects.filter(draft=of)
    alive = Zone.objects.filter(pk__in=chosen.values("zone"), deleted_at=None).order_by("name")
    return plan_zones(_with_edits(alive, draft.edits_of(chosen)), timezone.now(), author=author)


@after_hooks
def publish(
    *,
    acting: Acting,
    zones: Sequence[Zone] | None = None,
    of: named_drafts.NamedDraft | None = None,
    consent: Consent | Consenting = Consent(),
    passing: Passing | None = None,
) -> Publication:
    """Publish the author's draft, or only its changes to `zones`, and remove the published operations from it.

    `of` is a named draft that is not open in the author's editor: the part that the author can see is published. A
    named draft without remaining operations is deleted.

    1. Lock the draft, then the zones in the order of their ids.
    2. Plan: merge each RRset, check the rules, count removed RRsets.
    3. Delete the operations, write the RRsets.
    4. Append to the log as the last step, because all publishers queue for its head.

    `consent` can be a function of the plans. A caller can then compare them with the reviewed plans without planning
    twice. If it raises an error, nothing is published and the draft does not change. `passing` decides from the plans
    how they pass approval rules. Without it, a draft that waits for approval is rejected.

    Raise RightMissing for an RRset that the author is not allowed to change, ApprovalNeeded, Frozen, HookRefused,
    DraftRefused, or PublishRefused (Conflicts, RuleViolations, GuardHolds or QuotaExceeded): the draft then doesn't
    change. If no change is left, because other people have already published the same changes, delete these operations
    and raise NothingToPublish. A form sent twice returns the first publication.
    """
    author = acting.author
    assert author is not None, "every draft has an author"
    try:
        with transaction.atomic(durable=True):
            current, drafted = _locked_draft(author) if of is None else named_drafts.locked_to_publish(author, of)
            chosen = _in_zones(drafted, zones)
            if current is not None and passing is None:
                named_drafts.refuse_requested(current)
            edits = draft.edits_of(chosen)
            alive = lock_zones(edits)
            plans = plan_zones(_with_edits(alive, edits), acting.now, author=author)
            agreed = consent if isinstance(consent, Consent) else consent(plans)
            passage = passing(plans) if passing is not None else Passage(past_rules=agreed.past_rules)
            refuse(
                plans, author, _accepted_with_reason(agreed.accept_warnings, agreed.reason), confirmed=agreed.confirmed
            )
            chosen.filter(zone__in=[zone.pk for zone in alive]).delete()
            if current is not None:
                named_drafts.forget_if_empty(current)
            publication = carry_out(plans, replace(acting, reason=agreed.reason), passage)
        if publication is None:
            raise errors.NothingToPublish
        return publication
    except (errors.PublishRefused, errors.DraftUnknown, IntegrityError) as refusal:
        return publication_of_form(acting.form_id, otherwise=refusal)


def undo_revisions(*, revisions: Iterable[Revision], author: draft.Drafter, now: datetime) -> Draft:
    """Draft the inverse of all these revisions or of none. Return the draft.

    Later changes of the RRsets will show as conflicts. Raise CannotUndo for a revision that created, deleted or
    restored the zone or changed its signing. Also raise the errors of `draft.draft_changes`.
    """
    return draft.draft_changes(author=author, zones=[_inverse_of(each) for each in revisions], now=now)


def _inverse_of(revision: Revision) -> draft.ZoneChanges:
    if revision.kind != RevisionKind.CHANGE:
        raise _not_by_draft(revision)
    if SigningChange.objects.filter(zone=revision.zone, revision_number=revision.number).exists():
        raise errors.CannotUndo(
            gettext(
                "Revision {number} changed how the zone is signed. Change the zone’s DNSSEC settings instead."
            ).format(number=revision.number)
        )
    inverse = [Change(*each.key, before=each.after, after=each.before) for each in revision_changes(revision=revision)]
    return draft.ZoneChanges(revision.zone, inverse, revision.number)


def restore_to(*, zone: Zone, number: int, author: draft.Drafter, now: datetime) -> Draft:
    """Draft the changes that revert the zone to a revision. Return the draft.

    Raise RevisionUnknown if the zone has no such revision, or no longer. Also raise the errors of
    `draft.draft_changes`.
    """
    zone.refresh_from_db()
    if not Revision.objects.filter(zone=zone, number=number).exists():
        raise errors.RevisionUnknown(zone.name, number, newest=zone.revision)
    since = StoredChange.objects.filter(revision__zone=zone, revision__number__gt=number)
    first = since.order_by("owner_key", "type", "revision__number").distinct("owner_key", "type")
    then = {(change.name, change.type): rrset_before(change) for change in first}
    current = store_rrsets.rrsets_at_names({zone.pk: (zone.name, {name for name, _ in then})})[zone.pk]
    changes = [
        Change(*key, current.get(key), rrset) for key, rrset in then.items() if not soa.same(current.get(key), rrset)
    ]
    return draft.draft_changes(author=author, zones=[draft.ZoneChanges(zone, changes, zone.revision)], now=now)


def _locked_draft(author: draft.Drafter) -> tuple[Draft | None, QuerySet[Operation]]:
    """Lock the author's draft. Return it and its operations, or None and no operations if the author has no draft."""
    found = Draft.objects.select_for_update(no_key=True).filter(author=draft.person(author)).first()
    return found, Operation.objects.none() if found is None else Operation.objects.filter(draft=found)


def _in_zones(operations: QuerySet[Operation], zones: Sequence[Zone] | None) -> QuerySet[Operation]:
    return operations if zones is None else operations.filter(zone__in=[zone.pk for zone in zones])


def _with_edits(zones: Iterable[Zone], edits: Mapping[int, Sequence[Edit]]) -> dict[int, tuple[Zone, Sequence[Edit]]]:
    return {zone.pk: (zone, edits.get(zone.pk, ())) for zone in zones}


def refuse(
    plans: Sequence[ZonePlan],
    author: Author,
    accept_warnings: Accepted,
    under: SystemRight | None = None,
    *,
    confirmed: bool,
) -> None:
    """Raise RightMissing, QuotaExceeded, Conflicts, RuleViolations or GuardHolds if a plan isn't allowed."""
    for plan in plans:
        access.refuse_changes(author, plan.zone, plan.changes, under)
    zone_quotas.refuse_growth(author, plans)
    conflicts = [conflict for plan in plans for conflict in plan.conflicts]
    if conflicts:
        raise errors.Conflicts(conflicts)
    blocking = [v for plan in plans for v in plan.violations if _blocks(v, accept_warnings)]
    if blocking:
        raise errors.RuleViolations(blocking)
    waiting = guarded_zones(plans)
    if waiting and not confirmed:
        rehearsal.hold(errors.GuardHolds(waiting))
    rehearsal.note(*plans)


def guarded_zones(plans: Iterable[ZonePlan]) -> list[errors.GuardedZone]:
    """Return the zones that a person must confirm, because they lose many RRsets, apex NS records or a DS."""
    return [
        errors.GuardedZone(plan.zone.name, plan.guard, plan.removed, plan.zone.rrset_count)
        for plan in plans
        if plan.guard
    ]


def _accepted_with_reason(accepted: Accepted, reason: str) -> Accepted:
    """Return the accepted warnings. If the reason is empty, leave out BREAKING_DS (a DS that breaks a zone)."""
    return accepted if isinstance(accepted, bool) or reason.strip() else set(accepted) - {BREAKING_DS}


def _blocks(violation: Violation, accepted: Accepted) -> bool:
    if violation.severity != Severity.WARNING:
        return violation.severity == Severity.ERROR
    if violation.code == BREAKING_DS and isinstance(accepted, bool):
        return True
    return violation.code not in accepted if not isinstance(accepted, bool) else not accepted


def carry_out(
    plans: Sequence[ZonePlan], acting: Acting, passage: Passage = NO_PASSAGE, under: SystemRight | None = None
) -> Publication | None:
    """Write and log the changes of checked plans, and accept breaking DS. Return None if there are no changes."""
    revisions = [_new_revision(plan) for plan in plans if plan.changes]
    if not revisions:
        return None
    store_rrsets.write_changes((each.zone_id, each.zone_name, each.changes) for each in revisions)
    publication = append_publication(revisions=revisions, acting=acting, passage=passage, under=under)
    if any(violation.code == BREAKING_DS for plan in plans for violation in plan.violations):
        accept_break(publication=publication, by=acting.author, reason=acting.reason, now=acting.now)
    return publication


def _with_soa(plan: ZonePlan) -> list[Change]:
    """Return the plan's changes, including the SOA's. The SOA can stay unchanged only in a presigned zone."""
    apex = plan.zone.name, rdtypes.SOA
    others = [change for change in plan.changes if change.key != apex]
    if plan.soa_before == plan.soa_after:
        return others
    return [*others, Change(*apex, before=plan.soa_before, after=plan.soa_after)]


def _new_revision(plan: ZonePlan) -> NewRevision:
    return NewRevision(
        zone_id=plan.zone.pk,
        zone_name=plan.zone.name,
        kind=RevisionKind.CHANGE,
        number=plan.zone.revision + 1,
        serial=plan.serial,
        rrset_count=plan.zone.rrset_count + plan.added - plan.removed,
        added=plan.added,
        changed=plan.changed,
        removed=plan.removed,
        changes=_with_soa(plan),
    )


def _not_by_draft(revision: Revision) -> errors.CannotUndo:
    if revision.kind != RevisionKind.DELETE:
        return errors.CannotUndo(
            gettext("Revision {number} created the zone. To undo this, delete the zone.").format(
                number=revision.number
            ),
            instead="delete",
        )
    if revision.zone.deleted_at is not None:
        return errors.CannotUndo(gettext("The zone is in the trash. Restore it instead."), instead="restore")
    return errors.CannotUndo(gettext("The zone has already been restored."))
