"""Requests: a draft with a name waits for the approval of others, or for a time, and is then published. Verbs.

It is published in the name of its author, with the rights that they have by then, whoever of author and approvers says
so. An approval is of exactly what its approver saw: whatever moves in the draft, or beneath it in the zone, makes it
stale. Who may have worked in the draft approves nothing of it.
"""

import logging
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from hashlib import blake2s
from json import dumps
from typing import Any
from urllib.parse import quote
from uuid import UUID

from django.db import transaction
from django.db.models import Prefetch, Q, QuerySet
from django.utils import timezone

from dnspanel.accounts.actors.actors import Actor, actor_of, actor_of_token, can, token_of
from dnspanel.accounts.actors.grants import Right
from dnspanel.accounts.actors.roles import Permission
from dnspanel.accounts.audit import audit
from dnspanel.accounts.models import User
from dnspanel.accounts.people.same_person import humans_of
from dnspanel.texts import gettext, shortened
from dnspanel.zones.drafts import named_drafts
from dnspanel.zones.drafts.draft import Drafter, person
from dnspanel.zones.drafts.named_drafts import NamedDraft
from dnspanel.zones.errors import DraftUnknown, PublishingOnHold, RequestRefused, RequestUnknown, ZoneError
from dnspanel.zones.governance import publish_guards
from dnspanel.zones.governance.freeze_times import next_begin
from dnspanel.zones.governance.parts import types_changed
from dnspanel.zones.governance.publish_guards import Passage, Rules
from dnspanel.zones.governance.ticket_patterns import ticket_in
from dnspanel.zones.models import (
    ApprovalRule,
    Channel,
    Draft,
    Freeze,
    Operation,
    Publication,
    PublishRequest,
    RequestNote,
    RequestState,
    Verdict,
    Zone,
)
from dnspanel.zones.plan.plan import ZonePlan
from dnspanel.zones.publishing import revision
from dnspanel.zones.rights import access
from replication.dns import rdtypes

MOST_CHANGES = 10_000  # of one request
MOST_NOTES = 200
MOST_LOOKED_AT = 200  # open requests, for those that wait for somebody
LONGEST_TEXT = 1_000
# For so long after it people are shown what went past rules.
PAST_RULES_LISTED = timedelta(days=30)
LATEST = timedelta(days=366)
CLOCKS_DIFFER = timedelta(minutes=2)  # at most, where nobody set one back
MOST_PLANNED = 5  # that a page names
FREEZES_SOON = timedelta(days=3)

logger = logging.getLogger(__name__)

Seen = Mapping[str, str]  # "zone id, name, type" of each RRset that changes → a digest of how


@dataclass(frozen=True, slots=True)
class Approval:
    """What somebody approved, and what of it moved since: RRsets as (zone id, name, type)."""

    note: RequestNote
    moved: frozenset[str]

    @property
    def is_stale(self) -> bool:
        """Whether it counts no more."""
        return bool(self.moved)


@dataclass(frozen=True, slots=True)
class Demand:
    """What one rule asks of a request, and how many gave it."""

    rule: ApprovalRule
    given: int

    @property
    def is_met(self) -> bool:
        """Whether enough people approved."""
        return self.given >= self.rule.needed

    @property
    def who(self) -> str:
        """Who may approve, for people."""
        return publish_guards.approvers_text(self.rule)


@dataclass(frozen=True, slots=True)
class ZoneCalendar:
    """What is planned for a zone: requests with their time, freezes that hold until when, and when others begin."""

    planned: tuple[PublishRequest, ...] = ()
    frozen: tuple[tuple[Freeze, datetime], ...] = ()
    soon: tuple[tuple[Freeze, datetime], ...] = ()


@dataclass(frozen=True, slots=True)
class Attention:
    """What a person should look at: requests that wait for them, own ones that were not published, and freezes."""

    waiting: tuple[PublishRequest, ...] = ()
    late: tuple[PublishRequest, ...] = ()
    frozen: tuple[tuple[Freeze, datetime], ...] = ()


@dataclass(frozen=True, slots=True)
class RequestStatus:
    """How far an open request is, and what one reader may do about it."""

    request: PublishRequest
    plans: tuple[ZonePlan, ...]
    digest: str
    demands: tuple[Demand, ...]
    approvals: tuple[Approval, ...]
    is_own: bool
    may_approve: bool
    reason_not: str  # why the reader may not approve, for people
    may_publish: bool
    own_approval: Approval | None
    frozen: tuple[tuple[Freeze, datetime], ...]  # what keeps it back just now, and until when

    @property
    def is_approved(self) -> bool:
        """Whether every rule has the approvals that it asks for."""
        return all(demand.is_met for demand in self.demands)


@dataclass(frozen=True, slots=True)
class Terms:
    """What the author of a request says about it: why, accepted warnings, a confirmed mass deletion, and the time."""

    reason: str = ""
    accepted: Collection[str] = ()
    confirmed: bool = False
    publish_at: datetime | None = None


def ask(
    *,
    author: Drafter,
    now: datetime,
    name: str = "",
    named: NamedDraft | None = None,
    zones: Collection[Zone] | None = None,
    terms: Terms = Terms(),
) -> PublishRequest:
    """The draft waits under its name (`name`, for one that has none) for approval, and until the time of its terms.

    Raises DraftRefused as `named_drafts.put_aside`, RequestRefused for one that waits already, for more than
    MOST_CHANGES, and for a time that is past or more than LATEST ahead.
    """
    access.require(author, Permission.EDIT)
    _refuse_time(terms.publish_at, now)
    made: list[PublishRequest] = []

    def begin(draft: Draft) -> None:
        changed = Operation.objects.filter(draft=draft).values_list("zone", flat=True)
        if len(changed) > MOST_CHANGES:
            raise RequestRefused(
                gettext("A request has at most {most_changes:,} changes; this has {changed:,}.").format(
                    most_changes=MOST_CHANGES, changed=len(changed)
                )
            )
        if PublishRequest.objects.filter(draft=draft, state=RequestState.OPEN).exists():
            raise RequestRefused(gettext("This draft waits for approval already."))
        _refuse_without_ticket(draft, set(changed), terms.reason)
        request = PublishRequest.objects.create(
            draft=draft,
            name=draft.name,
            author=person(author),
            token=token_of(author),
            by_token=token_of(author) is not None,
            asked_at=now,
            reason=_text(terms.reason),
            accepted=sorted(set(terms.accepted))[:100],
            confirmed=terms.confirmed,
            zone_ids=sorted(set(changed)),
            publish_at=terms.publish_at,
        )
        _record("request.ask", request, author, now, **_at(terms.publish_at))
        made.append(request)

    if named is None:
        named_drafts.put_aside(author=author, name=name, now=now, zones=zones, alongside=begin)
    else:
        named_drafts.set_down(by=author, named=named, now=now, alongside=begin)
    return made[0]


def approve(*, request: PublishRequest, by: Drafter, seen: str, now: datetime, text: str = "") -> RequestNote:
    """This person approves exactly what has this digest, and nothing else.

    Raises RequestRefused for who may not, and if the request changed since it was seen; that is in the audit log too.
    """
    with _refusal_told("approve", request, by, now), transaction.atomic():
        found = _locked(request)
        status = status_of(found, by)
        if not status.may_approve:
            raise RequestRefused(status.reason_not)
        if seen != status.digest:
            raise RequestRefused(gettext("The request changed since you saw it. Look at it again, then decide."))
        RequestNote.objects.filter(request=found, by=person(by), verdict=Verdict.APPROVE).delete()
        note = _note(found, by, Verdict.APPROVE, text, now, _seen(status.plans))
        _record("request.approve", found, by, now, digest=seen)
        return note


def decline(*, request: PublishRequest, by: Drafter, now: datetime, text: str) -> RequestNote:
    """The request is over, with the reason; its draft is one like others again. Raises RequestRefused."""
    if not text.strip():
        raise RequestRefused(gettext("Say why you decline it."))
    with transaction.atomic():
        found = _locked(request)
        status = status_of(found, by)
        if not status.may_approve:
            raise RequestRefused(status.reason_not)
        note = _note(found, by, Verdict.DECLINE, text, now)
        _end(found, RequestState.DECLINED, by, now)
        _record("request.decline", found, by, now, reason=note.text)
        return note


def comment(*, request: PublishRequest, by: Drafter, now: datetime, text: str) -> RequestNote:
    """The text stands beneath the request, for everybody who may see it. Raises RequestRefused."""
    if not text.strip():
        raise RequestRefused(gettext("Write something."))
    with transaction.atomic():
        found = _locked(request)
        note = _note(found, by, Verdict.COMMENT, text, now)
        _record("request.comment", found, by, now)
        return note


def withdraw(*, request: PublishRequest, by: Drafter, now: datetime) -> None:
    """Its author, or the owner of the draft, takes it back; the draft stays. Raises RequestRefused."""
    with transaction.atomic():
        found = _locked(request)
        _refuse_to_change(by, found)
        _end(found, RequestState.WITHDRAWN, by, now)
        _record("request.withdraw", found, by, now)


def publish_at_time(*, request: PublishRequest, by: Drafter, publish_at: datetime | None, now: datetime) -> None:
    """The request publishes itself at this time, or not by itself (None). Raises RequestRefused."""
    _refuse_time(publish_at, now)
    with transaction.atomic():
        found = _locked(request)
        _refuse_to_change(by, found)
        PublishRequest.objects.filter(pk=found.pk).update(publish_at=publish_at, tried_at=None, refusal="")
        _record("request.time", found, by, now, **_at(publish_at))


def publish_request(
    *, request: PublishRequest, by: Drafter | None, channel: str, now: datetime, past_rules: str = ""
) -> Publication:
    """The request is published as its author's, with the author's rights of now; by the author, an approver, or a time.

    Nobody (None) publishes it at its time. With `past_rules`, a reason, it goes past what rules still ask for, as the
    publication of `by`, who may govern its zones. Raises RequestRefused, and as `revision.publish` does.
    """
    draft = request.draft
    if draft is None or not request.is_open:
        raise RequestRefused(gettext("This request is over."))
    author: Drafter = by if by is not None and past_rules else _author_of(request)
    if by is not None and past_rules:
        for plan in plans_of(request):
            access.require_right(by, plan.zone, Right.GOVERN)
    elif by is not None:
        status = status_of(request, by)
        if not status.may_publish:
            with _refusal_told("publish", request, by, now):
                raise RequestRefused(gettext("It is published by who asked or who approved, once enough did."))
        if status.is_own:
            _refuse_to_change(by, request)

    def passing(plans: Sequence[ZonePlan]) -> Passage:
        found = _locked(request)
        if holder := User.objects.filter(draft=draft).first():
            raise RequestRefused(
                gettext("{username} works in the draft now: it is published once it is put back.").format(
                    username=holder.username
                )
            )
        if past_rules:
            return Passage(past_rules=True, request=found.pk)
        if Operation.objects.filter(draft=draft).count() != sum(_size(plan) for plan in plans):
            raise RequestRefused(gettext("Its author does not see all of its zones any more, or some are gone."))
        approvals = _approvals(found, _seen(plans))
        return Passage(frozenset(_approvers(approvals, _involved(found))), request=found.pk)

    if by is not None and person(by) != request.author:
        audit.record(action="request.publish", by=by, now=now, target=request.name, request=str(request.key))
    try:
        return revision.publish(
            author=author,
            channel=channel,
            now=now,
            of=NamedDraft(draft, is_own=True, may_edit=True),
            consent=revision.Consent(
                reason=past_rules or request.reason,
                accept_warnings=frozenset(request.accepted),
                confirmed=request.confirmed,
            ),
            passing=passing,
        )
    except DraftUnknown as gone:  # somebody published it in the same moment
        raise RequestRefused(gettext("This request is over.")) from gone


def publish_due(*, now: datetime) -> int:
    """What should be published by now is, once each; returns how many were. What is refused keeps the reason.

    A request is tried once: whoever asked says anew when. While publishing is held, all wait. Where the clock shows a
    time before the request was asked it was set back, which the request and the audit log say once.
    """
    set_back = Q(asked_at__gt=now + CLOCKS_DIFFER, publish_at__isnull=False, refusal="")
    due = PublishRequest.objects.filter(
        Q(publish_at__lte=now) | set_back, state=RequestState.OPEN, draft__isnull=False, tried_at=None
    ).select_related("draft", "author", "token__owner")
    count = 0
    for request in due.order_by("publish_at", "pk")[:MOST_LOOKED_AT]:
        if request.publish_at is None or request.publish_at > now:
            _tell_of_clock(request, now)
            continue
        try:
            publish_request(request=request, by=None, channel=Channel.SYSTEM, now=now)
            count += 1
        except PublishingOnHold as hold:
            logger.warning("planned publications wait: %s", hold)
            break
        except ZoneError as refusal:
            logger.warning("request=%s was not published at its time: %s", request.key, refusal)
            with transaction.atomic():
                still = PublishRequest.objects.filter(pk=request.pk, state=RequestState.OPEN)
                if still.update(tried_at=now, refusal=shortened(str(refusal), LONGEST_TEXT)):
                    _record_refusal("publish", request, None, now, refusal)
    return count


def _tell_of_clock(request: PublishRequest, now: datetime) -> None:
    """The request says, as does the audit log, that it waits longer than it seems to: it was asked in the future."""
    clock = f"{now.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
    refusal = gettext("The panel’s clock was set back to {clock}: it is published at its time.").format(clock=clock)
    with transaction.atomic():
        if PublishRequest.objects.filter(pk=request.pk, refusal="").update(refusal=refusal):
            _record_refusal("publish", request, None, now, refusal)


def request_for(reader: Drafter, key: UUID) -> PublishRequest:
    """The request with this key, for who sees one of its zones or asked it. Raises RequestUnknown.

    A token other than the one that asked sees all of all its zones, since what is done to a request is done to all of
    it.
    """
    related = PublishRequest.objects.select_related("draft__owner", "author", "token__owner", "ended_by", "publication")
    found = related.filter(key=key).first()
    if found is None:
        raise RequestUnknown
    if not _is_known_to(reader, found):
        raise RequestUnknown
    return found


def status_of(request: PublishRequest, reader: Drafter) -> RequestStatus:
    """How far an open request is, planned as it would be published now. Raises RequestUnknown for one that is over."""
    if request.draft is None or not request.is_open:
        raise RequestUnknown
    plans = plans_of(request)
    seen = _seen(plans)
    rules = publish_guards.rules_about([plan.zone for plan in plans])
    approvals = _approvals(request, seen)
    involved = _involved(request)
    valid = _approvers(approvals, involved)
    people = [publish_guards.approver(user) for user in User.objects.filter(pk__in=valid)]
    demands = tuple(
        Demand(rule, publish_guards.approvals_given(rule, people)) for rule in _rules_concerned(plans, rules)
    )
    user = person(reader)
    reason_not = _reason_not(request, user, reader, demands, involved)
    is_own = user.pk in _owners(request)
    own = next((each for each in approvals if each.note.by_id == user.pk), None)
    return RequestStatus(
        request=request,
        plans=plans,
        digest=_digest(seen),
        demands=demands,
        approvals=approvals,
        is_own=is_own,
        may_approve=not reason_not,
        reason_not=reason_not,
        may_publish=all(demand.is_met for demand in demands) and (is_own or user.pk in valid),
        own_approval=own,
        frozen=tuple(publish_guards.freezes_now(rules, timezone.now())),
    )


def plans_of(request: PublishRequest) -> tuple[ZonePlan, ...]:
    """What publishing it would do now, to all of its zones, whoever looks."""
    assert request.draft is not None
    return revision.preview_of(request.draft, author=request.author)


def moved_only(plans: Sequence[ZonePlan], moved: Collection[str]) -> tuple[ZonePlan, ...]:
    """The plans with those changes alone that moved since an approval."""
    kept = (
        replace(plan, changes=tuple(c for c in plan.changes if _key(plan, c.name, c.type) in moved)) for plan in plans
    )
    return tuple(plan for plan in kept if plan.changes or plan.conflicts)


def rules_for(plans: Sequence[ZonePlan], author: Drafter, *, displayed: Zone | None = None) -> Rules:
    """The rules that ask something of the author before this is published, and the freezes. One query without any.

    And whether something is planned for the zone that is `displayed` with it.
    """
    rules = publish_guards.rules_about(
        [plan.zone for plan in plans], planned=_planned(displayed) if displayed else None
    )
    token = token_of(author)
    concerned = (
        rule
        for rule in _rules_concerned(plans, rules)
        if token is None or token.pk not in {each.pk for each in rule.tokens.all()}
    )
    return Rules(tuple(concerned), rules.freezes, is_planned=rules.is_planned)


def may_go_past(author: Drafter, plans: Sequence[ZonePlan]) -> bool:
    """Whether the author may publish this past rules, with a reason."""
    return bool(plans) and all(access.has_right(author, plan.zone, Right.GOVERN) for plan in plans)


def notes_of(request: PublishRequest) -> list[RequestNote]:
    """What was said of it, the oldest first."""
    return list(request.notes.select_related("by", "token").order_by("pk")[:MOST_NOTES])


def requests_of(reader: Drafter, *, before: int | None = None, limit: int = 50) -> list[PublishRequest]:
    """The reader's own, the newest first; a token's are those of its owner's last ones that it may know."""
    found = PublishRequest.objects.filter(author=person(reader)).select_related(
        "draft", "author", "token", "ended_by", "publication"
    )
    if before is not None:
        found = found.filter(pk__lt=before)
    if token_of(reader) is not None:
        return [each for each in found.order_by("-pk")[:MOST_LOOKED_AT] if _is_known_to(reader, each)][:limit]
    return list(found.order_by("-pk")[:limit])


def waiting_for(reader: Drafter) -> list[PublishRequest]:
    """Open requests that wait for this reader's approval, the oldest first, as far as it looks: MOST_LOOKED_AT.

    Those are not among them that the reader approved since their draft was edited last. In at most nine queries.
    """
    user = person(reader)
    found = list(
        PublishRequest.objects.filter(state=RequestState.OPEN, draft__isnull=False)
        .exclude(author=user)
        .select_related("draft", "author", "token", "ended_by")
        .order_by("pk")[:MOST_LOOKED_AT]
    )
    if not found:
        return []
    zones = access.zones_visible_to(reader).in_bulk({pk for each in found for pk in each.zone_ids})
    rules = publish_guards.rules_about(zones.values())
    types = _types_by_zone([each.draft_id for each in found if each.draft_id is not None])
    me, humans = publish_guards.approver(user), humans_of({pk for each in found for pk in _accounts_involved(each)})
    approved = dict(
        RequestNote.objects.filter(request__in=found, by=user, verdict=Verdict.APPROVE).values_list("request", "at")
    )
    return [
        each
        for each in found
        if each.draft is not None
        and not any(humans.get(pk) == user.human_id for pk in _accounts_involved(each))
        and (token_of(reader) is None or _is_known_to(reader, each))
        and zones.keys() >= set(each.zone_ids)
        and not (each.pk in approved and approved[each.pk] > each.draft.changed_at)
        and any(
            rule.needed
            and me.may_approve(rule)
            and publish_guards.is_concerned(rule, types.get((each.draft_id, pk), Counter()))
            for pk in each.zone_ids
            for rule in rules.of(zones[pk]).approval
        )
    ]


def past_rules_lately(reader: Drafter, *, since: datetime) -> list[PublishRequest]:
    """What went past rules since then, the newest first, where this reader sees a zone of it."""
    found = PublishRequest.objects.filter(state=RequestState.PAST_RULES, ended_at__gte=since)
    listed = list(found.select_related("author", "token", "ended_by", "publication").order_by("-pk")[:MOST_LOOKED_AT])
    seen = (
        set(
            access.zones_visible_to(reader)
            .filter(pk__in={pk for each in listed for pk in each.zone_ids})
            .values_list("pk", flat=True)
        )
        if listed
        else set()
    )
    return [each for each in listed if not seen.isdisjoint(each.zone_ids)]


def request_behind(publication: Publication) -> PublishRequest | None:
    """The request by which this was published, with its approvals as `notes`. One query without one."""
    approvals = RequestNote.objects.filter(verdict=Verdict.APPROVE).select_related("by").order_by("pk")
    found = PublishRequest.objects.filter(publication=publication).prefetch_related(Prefetch("notes", approvals))
    return found.first()


def ticket_link(reason: str, zones: Collection[Zone]) -> tuple[str, str]:
    """The ticket in a reason, as rules about these zones have it, and where it is; empty if there is none.

    One query where there are no rules, and none where no word has a number.
    """
    if not any(map(str.isdigit, reason)):
        return "", ""
    for rule in publish_guards.rules_about(zones).approval:
        if rule.ticket_link and (ticket := ticket_in(reason, rule.ticket)):
            return ticket, rule.ticket_link.replace("{ticket}", quote(ticket, safe=""))
    return "", ""


def calendar_of(zone: Zone, now: datetime, known: Rules | None = None) -> ZoneCalendar:
    """What is planned for a zone, and its freezes. One query where there is nothing, as for nearly every zone.

    None where that is `known`: what `rules_for` has said with the zone `displayed`.
    """
    if known is not None and not known.freezes and not known.is_planned:
        return ZoneCalendar()
    planned, frozen = _planned(zone), Freeze.objects.filter(publish_guards.about([zone]))
    if not planned.values_list("pk").union(frozen.values_list("pk")):
        return ZoneCalendar()
    rules = Rules(freezes=tuple(frozen.select_related("zone", "team").order_by("pk")))
    soon = ((freeze, next_begin(freeze, now)) for freeze in rules.freezes)
    return ZoneCalendar(
        planned=tuple(planned.select_related("author").order_by("publish_at")[:MOST_PLANNED]),
        frozen=tuple(publish_guards.freezes_now(rules, now)),
        soon=tuple((freeze, at) for freeze, at in soon if at is not None and at <= now + FREEZES_SOON),
    )


def _planned(zone: Zone) -> QuerySet[PublishRequest]:
    return PublishRequest.objects.filter(
        zone_ids__contains=[zone.pk], state=RequestState.OPEN, publish_at__isnull=False, draft__isnull=False
    )


def attention_of(reader: Drafter, now: datetime) -> Attention:
    """What a person is told at the door: requests that wait for them, their own that failed, and freezes of all zones.

    One query where there is nothing.
    """
    waiting = PublishRequest.objects.filter(state=RequestState.OPEN, draft__isnull=False)
    frozen = Freeze.objects.filter(zone=None, team=None, tag="")
    if not waiting.values_list("pk").union(frozen.values_list("pk")):
        return Attention()
    late = waiting.filter(author=person(reader), tried_at__isnull=False).exclude(refusal="").order_by("pk")
    rules = Rules(freezes=tuple(frozen.select_related("zone", "team").order_by("pk")))
    return Attention(
        waiting=tuple(waiting_for(reader)),
        late=tuple(late[:MOST_PLANNED]),
        frozen=tuple(publish_guards.freezes_now(rules, now)),
    )


def _refuse_without_ticket(draft: Draft, zone_ids: Collection[int], reason: str) -> None:
    zones = Zone.objects.in_bulk(zone_ids)
    rules = publish_guards.rules_about(zones.values())
    types = _types_by_zone([draft.pk]) if rules.approval else {}
    for (_, zone_id), of_zone in types.items():
        for rule in rules.of(zones[zone_id]).approval:
            if rule.ticket and publish_guards.is_concerned(rule, of_zone) and not ticket_in(reason, rule.ticket):
                raise RequestRefused(
                    gettext("Say a ticket like {ticket} in the reason: {reason}.").format(
                        ticket=rule.ticket, reason=rule.reason.rstrip(".")
                    )
                )


def _types_by_zone(drafts: Collection[int]) -> dict[tuple[int | None, int], Counter[int]]:
    """How many RRsets of each type drafts change in each zone, by draft and zone."""
    found: dict[tuple[int | None, int], Counter[int]] = {}
    rows = Operation.objects.filter(draft__in=drafts).values_list("draft", "zone", "type")
    for draft, zone, type_ in rows.order_by():
        found.setdefault((draft, zone), Counter())[type_] += 1
    return found


def _is_known_to(reader: Drafter, request: PublishRequest) -> bool:
    visible = list(access.zones_visible_to(reader).filter(pk__in=request.zone_ids))
    token = token_of(reader)
    if token is None:
        return bool(visible) or request.author_id == person(reader).pk
    if token.pk == request.token_id:
        return bool(visible)
    return len(visible) == len(request.zone_ids) and not any(access.visibility_of(reader, zone) for zone in visible)


def _refuse_to_change(by: Drafter, request: PublishRequest) -> None:
    """Raise RequestRefused for who neither asked nor owns the draft, RightMissing for a token that may not do this."""
    if person(by).pk not in _owners(request):
        raise RequestRefused(gettext("Only who asked may do this."))
    if token_of(by) is not None:
        for plan in plans_of(request):
            access.refuse_changes(by, plan.zone, plan.changes)


def _rules_concerned(plans: Sequence[ZonePlan], rules: Rules) -> tuple[ApprovalRule, ...]:
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
    """Why this person may not approve or decline; empty for who may."""
    if token_of(reader) is not None and not can(reader, Permission.APPROVE):
        return gettext("This token may not approve or decline: give it the permission, or do it on the request’s page.")
    if user.human_id in involved:
        return gettext("Who asked for it, or worked in the draft, does not approve it, by whatever account.")
    if not any(demand.rule.needed for demand in demands):
        return gettext("Nobody has to approve this.")
    mine = publish_guards.approver(user)
    if not any(demand.rule.needed and mine.may_approve(demand.rule) for demand in demands):
        return gettext("It is approved by {who}.").format(who=demands[0].who)
    if access.zones_visible_to(reader).filter(pk__in=request.zone_ids).count() != len(request.zone_ids):
        return gettext("It has changes in zones that you may not see: somebody who sees them has to approve it.")
    return ""


def _approvals(request: PublishRequest, seen: Seen) -> tuple[Approval, ...]:
    notes = RequestNote.objects.filter(request=request, verdict=Verdict.APPROVE).select_related("by").order_by("pk")
    return tuple(Approval(note, _moved(note.seen, seen)) for note in notes)


def _approvers(approvals: Sequence[Approval], involved: Collection[int]) -> set[int]:
    """The accounts whose approvals count."""
    people = (each.note.by for each in approvals if not each.is_stale)
    return {person.pk for person in people if person is not None and person.human_id not in involved}


def _moved(before: Mapping[str, Any], now: Seen) -> frozenset[str]:
    return frozenset(key for key in before.keys() | now.keys() if before.get(key) != now.get(key))


def _seen(plans: Sequence[ZonePlan]) -> dict[str, str]:
    """A digest of each RRset: what it is, what it becomes, and whether others changed it meanwhile.

    What a SOA is moves with every publication of its zone; if others changed more of it, that is a conflict.
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


def _size(plan: ZonePlan) -> int:
    return len(plan.changes) + len(plan.conflicts) + len(plan.already_so)


def _key(plan: ZonePlan, name: str, type: int) -> str:
    return f"{plan.zone.pk} {name} {type}"


def _digest(seen: Seen) -> str:
    return _short(sorted(seen.items()))


def _short(value: object) -> str:
    return blake2s(dumps(value, sort_keys=True).encode(), digest_size=12).hexdigest()


def _owners(request: PublishRequest) -> set[int]:
    ids = (request.author_id, request.draft.owner_id if request.draft is not None else None)
    return {id for id in ids if id is not None}


def _involved(request: PublishRequest) -> set[int]:
    """Who approves nothing of it, as `User.human_id`. One query."""
    return set(humans_of(_accounts_involved(request)).values())


def _accounts_involved(request: PublishRequest) -> set[int]:
    """The accounts of who asked, and of all in whose hands the draft was."""
    draft = request.draft
    if draft is None:
        return _owners(request)
    return _owners(request) | set(draft.worked_in) | ({draft.author_id} if draft.author_id is not None else set())


def _author_of(request: PublishRequest) -> Actor:
    """Who asked, as they are now. Raises RequestRefused for who is not there any more."""
    if request.by_token and (request.token is None or request.token.revoked_at is not None):
        raise RequestRefused(gettext("The token by which it was asked is revoked."))
    actor = actor_of_token(request.token) if request.token is not None else None
    if request.token is None and request.author is not None:
        actor = actor_of(request.author)
    if actor is None:
        raise RequestRefused(gettext("The account of who asked is closed."))
    return actor


def _locked(request: PublishRequest) -> PublishRequest:
    """The request, locked until the transaction ends. Raises RequestRefused for one that is over."""
    related = PublishRequest.objects.select_for_update(of=("self",), no_key=True).select_related("draft", "author")
    found = related.filter(pk=request.pk).first()
    if found is None or not found.is_open:
        raise RequestRefused(gettext("This request is over."))
    return found


def _end(request: PublishRequest, state: RequestState, by: Drafter, now: datetime) -> None:
    PublishRequest.objects.filter(pk=request.pk).update(state=state, ended_at=now, ended_by=person(by), draft=None)


def _note(
    request: PublishRequest, by: Drafter, verdict: Verdict, text: str, now: datetime, seen: Seen | None = None
) -> RequestNote:
    if RequestNote.objects.filter(request=request).count() >= MOST_NOTES:
        raise RequestRefused(gettext("A request has at most {most_notes} comments.").format(most_notes=MOST_NOTES))
    return RequestNote.objects.create(
        request=request, by=person(by), token=token_of(by), at=now, verdict=verdict, text=_text(text), seen=seen or {}
    )


def _text(text: str) -> str:
    text = text.strip()
    if len(text) > LONGEST_TEXT or "\0" in text:
        raise RequestRefused(gettext("Use at most {longest_text:,} characters.").format(longest_text=LONGEST_TEXT))
    return text


def _refuse_time(publish_at: datetime | None, now: datetime) -> None:
    if publish_at is not None and not now < publish_at <= now + LATEST:
        raise RequestRefused(gettext("Use a time from now on, within the next year."))


def _at(publish_at: datetime | None) -> dict[str, str]:
    return {} if publish_at is None else {"publish_at": f"{publish_at.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"}


@contextmanager
def _refusal_told(act: str, request: PublishRequest, by: Drafter, now: datetime) -> Iterator[None]:
    """Within, a refusal is in the audit log, once its transaction is rolled back."""
    try:
        yield
    except RequestRefused as refusal:
        _record_refusal(act, request, by, now, refusal)
        raise


def _record_refusal(act: str, request: PublishRequest, by: Drafter | None, now: datetime, refusal: object) -> None:
    details = {"request": str(request.key), "act": act, "refusal": str(refusal)}
    audit.record(action="request.refused", by=by, now=now, target=request.name, **details)


def _record(action: str, request: PublishRequest, by: Drafter, now: datetime, **details: object) -> None:
    audit.record(action=action, by=by, now=now, target=request.name, request=str(request.key), **details)
