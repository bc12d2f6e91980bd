"""Find the status of a request: the publication it would make, its approvals, and the possible approvers."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from hashlib import blake2s
from json import dumps
from typing import Any

from django.db.models import QuerySet
from django.utils import timezone

from dnspanel.accounts.actors.actors import Permission, Right, can, token_of
from dnspanel.accounts.models import User
from dnspanel.accounts.people.same_person import humans_of
from dnspanel.texts import gettext
from dnspanel.zones.drafts.draft import Drafter, person
from dnspanel.zones.errors import RequestUnknown
from dnspanel.zones.governance import publish_guards
from dnspanel.zones.governance.parts import types_changed
from dnspanel.zones.models import ApprovalRule, Freeze, PublishRequest, RequestNote, RequestState, Verdict, Zone
from dnspanel.zones.plan.plan import ZonePlan
from dnspanel.zones.publishing import revision
from dnspanel.zones.rights import access
from replication.dns import rdtypes

Seen = Mapping[str, str]  # "zone id, name, type" of each changed RRset → a digest of the change


@dataclass(frozen=True, slots=True)
class Approval:
    """An approval of a request. `moved` has RRsets changed after the approval, as texts with zone id, name and type."""

    note: RequestNote
    moved: frozenset[str]

    @property
    def is_stale(self) -> bool:
        """True if the approval no longer counts because RRsets changed."""
        return bool(self.moved)


@dataclass(frozen=True, slots=True)
class Demand:
    """The approvals that one rule requires for a request, and the number of approvals given."""

    rule: ApprovalRule
    given: int

    @property
    def is_met(self) -> bool:
        """True if enough people have approved."""
        return self.given >= self.rule.needed

    @property
    def who(self) -> str:
        """A description of the people who can approve."""
        return publish_guards.approvers_text(self.rule)


class ApprovalState(StrEnum):
    """The approval state of an open request: none required, approvals missing, or all given."""

    READY = "ready"
    PENDING = "pending"
    APPROVED = "approved"


def approval_state_of(demands: Iterable[Demand]) -> ApprovalState:
    """Return the approval state of an open request with these demands."""
    needed = [demand for demand in demands if demand.rule.needed]
    if not needed:
        return ApprovalState.READY
    return ApprovalState.APPROVED if all(demand.is_met for demand in needed) else ApprovalState.PENDING


@dataclass(frozen=True, slots=True)
class RequestStatus:
    """The status of an open request, and the actions on it that a reader is allowed to take."""

    request: PublishRequest
    plans: tuple[ZonePlan, ...]
    digest: str
    demands: tuple[Demand, ...]
    approvals: tuple[Approval, ...]
    is_own: bool
    may_approve: bool
    completes: bool  # the reader's approval, added to the others, would be enough
    reason_not: str  # why the reader isn't allowed to approve, as a message
    may_publish: bool
    own_approval: Approval | None
    frozen: tuple[tuple[Freeze, datetime], ...]  # the freezes that block it now, and their ends

    @property
    def approval(self) -> ApprovalState:
        return approval_state_of(self.demands)

    @property
    def is_approved(self) -> bool:
        """True if every rule has the approvals that it requires."""
        return self.approval is not ApprovalState.PENDING


def status_of(request: PublishRequest, reader: Drafter) -> RequestStatus:
    """Return the status of an open request, with plans for its publication. Raise RequestUnknown if it is closed."""
    if request.draft is None or not request.is_open:
        raise RequestUnknown
    plans = plans_of(request)
    seen = digests_of(plans)
    rules = publish_guards.rules_about([plan.zone for plan in plans])
    approvals = approvals_of(request, seen)
    involved = humans_involved(request)
    valid = approvers_of(approvals, involved)
    people = [publish_guards.approver(user) for user in User.objects.filter(pk__in=valid)]
    demands = tuple(
        Demand(rule, publish_guards.approvals_given(rule, people)) for rule in rules_concerned(plans, rules)
    )
    user = person(reader)
    reason_not = _reason_not(request, user, reader, demands, involved)
    with_own = [*people, *([] if user.pk in valid else [publish_guards.approver(user)])]
    is_own = user.pk in owners_of(request)
    own = next((each for each in approvals if each.note.by_id == user.pk), None)
    return RequestStatus(
        request=request,
        plans=plans,
        digest=_digest(seen),
        demands=demands,
        approvals=approvals,
        is_own=is_own,
        may_approve=not reason_not,
        completes=all(publish_guards.approvals_given(each.rule, with_own) >= each.rule.needed for each in demands),
        reason_not=reason_not,
        may_publish=approval_state_of(demands) is not ApprovalState.PENDING and (is_own or user.pk in valid),
        own_approval=own,
        frozen=tuple(publish_guards.freezes_now(rules, timezone.now())),
    )


def plans_of(request: PublishRequest) -> tuple[ZonePlan, ...]:
    """Return the plans for publishing the request in all of its zones, regardless of the viewer's rights."""
    assert request.draft is not None
    return revision.preview_of(request.draft, author=request.author)


def moved_only(plans: Sequence[ZonePlan], moved: Collection[str]) -> tuple[ZonePlan, ...]:
    """Return the plans with only the changes since an approval (`moved`). Omit plans without changes or conflicts."""
    kept = (
        replace(plan, changes=tuple(c for c in plan.changes if _key(plan, c.name, c.type) in moved)) for plan in plans
    )
    return tuple(plan for plan in kept if plan.changes or plan.conflicts)


def rules_for(plans: Sequence[ZonePlan], author: Drafter, *, displayed: Zone | None = None) -> publish_guards.Rules:
    """Return the rules that require approval for the author's publication, and the freezes of the plans' zones.

    `Rules.is_planned` is True if the zone `displayed` has scheduled requests. Needs one query if there are no rules.
    """
    rules = publish_guards.rules_about(
        [plan.zone for plan in plans], planned=planned_for(displayed) if displayed else None
    )
    token = token_of(author)
    concerned = (
        rule
        for rule in rules_concerned(plans, rules)
        if token is None or token.pk not in {each.pk for each in rule.tokens.all()}
    )
    return publish_guards.Rules(tuple(concerned), rules.freezes, is_planned=rules.is_planned)


def may_go_past(author: Drafter, plans: Sequence[ZonePlan]) -> bool:
    """Return True if the author is allowed to bypass the rules for this publication by giving a reason."""
    return bool(plans) and all(access.has_right(author, plan.zone, Right.GOVERN) for plan in plans)


def planned_for(zone: Zone) -> QuerySet[PublishRequest]:
    return PublishRequest.objects.filter(
        zone_ids__contains=[zone.pk], state=RequestState.OPEN, publish_at__isnull=False, draft__isnull=False
    )


def rules_concerned(plans: Sequence[ZonePlan], rules: publish_guards.Rules) -> tuple[ApprovalRule, ...]:
    found: dict[int, ApprovalRule] = {}
    for plan in plans if rules.approval else ():
        types = types_changed(plan.changes)
        for rule in rules.of(plan.zone).approval:
            if types and publish_guards.is_concerned(rule, types):
                found[rule.pk] = rule
    return tuple(found.values())


def _reason_not(
    request: PublishRequest, user: User, reader: Drafter, demands: Sequence[Demand], involved: Collection[int]
) -> str:
    """Return the reason why the reader isn't allowed to approve or decline, or an empty string."""
    if token_of(reader) is not None and not can(reader, Permission.APPROVE):
        return gettext(
            "This token isn’t allowed to approve or decline requests. Grant it the permission, or use the request page."
        )
    if user.human_id in involved:
        return gettext("You can’t approve this request because one of your accounts created it or changed the draft.")
    if not any(demand.rule.needed for demand in demands):
        return gettext("No approval is required.")
    mine = publish_guards.approver(user)
    if not any(demand.rule.needed and mine.may_approve(demand.rule) for demand in demands):
        return gettext("This request must be approved by {who}.").format(who=demands[0].who)
    if access.zones_visible_to(reader).filter(pk__in=request.zone_ids).count() != len(request.zone_ids):
        return gettext(
            "The request has changes in zones that you aren’t allowed to see. Someone who can see them must approve it."
        )
    return ""


def approvals_of(request: PublishRequest, seen: Seen) -> tuple[Approval, ...]:
    notes = RequestNote.objects.filter(request=request, verdict=Verdict.APPROVE).select_related("by").order_by("pk")
    return tuple(Approval(note, _changed_keys(note.seen, seen)) for note in notes)


def approvers_of(approvals: Sequence[Approval], involved: Collection[int]) -> set[int]:
    """Return the ids of the accounts whose approvals count: not stale, and not from people in `involved`."""
    people = (each.note.by for each in approvals if not each.is_stale)
    return {person.pk for person in people if person is not None and person.human_id not in involved}


def _changed_keys(before: Mapping[str, Any], now: Seen) -> frozenset[str]:
    return frozenset(key for key in before.keys() | now.keys() if before.get(key) != now.get(key))


def digests_of(plans: Sequence[ZonePlan]) -> dict[str, str]:
    """Return a digest of each RRset in the plans: of its current and new content, or of a conflict.

    The current content of an SOA is omitted, because it changes with every publication of its zone. Other people's
    edits of the SOA are conflicts. A change that others have already published has the fixed digest "so".
    """
    found = {
        _key(plan, change.name, change.type): _short(
            [
                change.before and change.type != rdtypes.SOA and change.before.to_json(),
                change.after and change.after.to_json(),
            ]
        )
        for plan in plans
        for change in plan.changes
    }
    for plan in plans:
        for conflict in plan.conflicts:
            theirs = conflict.theirs and conflict.theirs.to_json()
            found[_key(plan, conflict.change.name, conflict.change.type)] = _short(["conflict", theirs])
        for so in plan.already_so:
            found[_key(plan, so.name, so.type)] = "so"
    return found


def change_count(plan: ZonePlan) -> int:
    return len(plan.changes) + len(plan.conflicts) + len(plan.already_so)


def _key(plan: ZonePlan, name: str, type: int) -> str:
    return f"{plan.zone.pk} {name} {type}"


def _digest(seen: Seen) -> str:
    return _short(sorted(seen.items()))


def _short(value: object) -> str:
    return blake2s(dumps(value, sort_keys=True).encode(), digest_size=12).hexdigest()


def owners_of(request: PublishRequest) -> set[int]:
    ids = (request.author_id, request.draft.owner_id if request.draft is not None else None)
    return {id for id in ids if id is not None}


def humans_involved(request: PublishRequest) -> set[int]:
    """Return ids of people who made the request or may have edited the draft, with one query. They can't approve."""
    return set(humans_of(accounts_involved(request)).values())


def accounts_involved(request: PublishRequest) -> set[int]:
    """Return the ids of the accounts that made the request, own the draft, or may have worked in it."""
    draft = request.draft
    if draft is None:
        return owners_of(request)
    return owners_of(request) | set(draft.worked_in) | ({draft.author_id} if draft.author_id is not None else set())
