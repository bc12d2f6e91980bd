"""Request the publication of a named draft after approval or at a set time. Verbs.

The request is published in its author's name and with the author's current rights, even if an approver publishes it. An
approval covers exactly the content that the approver saw. Later changes to the draft, or to its RRsets in the zone,
make the approval stale. A person who may have worked in the draft can't approve it.
"""

import logging
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial

from django.db import transaction
from django.db.models import Q

from dnspanel.accounts.actors.actors import Actor, Permission, Right, actor_of, actor_of_token, token_of
from dnspanel.accounts.audit import audit
from dnspanel.accounts.models import User
from dnspanel.texts import gettext, shortened
from dnspanel.zones.acting import Acting
from dnspanel.zones.drafts import named_drafts
from dnspanel.zones.drafts.draft import Drafter, ZoneChanges, person
from dnspanel.zones.drafts.save_changes import save_changes
from dnspanel.zones.errors import DraftUnknown, PublishingOnHold, RequestRefused, ZoneError
from dnspanel.zones.governance import publish_guards
from dnspanel.zones.governance.ticket_patterns import ticket_in
from dnspanel.zones.models import (
    Channel,
    Draft,
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
from dnspanel.zones.requests.request_lists import MOST_LOOKED_AT, MOST_NOTES, types_by_zone
from dnspanel.zones.requests.request_status import (
    Seen,
    approvals_of,
    approvers_of,
    change_count,
    digests_of,
    humans_involved,
    owners_of,
    plans_of,
    status_of,
)
from dnspanel.zones.rights import access

MOST_CHANGES = 10_000  # in one request
LONGEST_TEXT = 1_000
LATEST = timedelta(days=366)
CLOCKS_DIFFER = timedelta(minutes=2)  # the largest difference between clocks, unless one was set back

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Terms:
    """The terms of a request: reason, accepted warnings, confirmation of deletions, and publication time."""

    reason: str = ""
    accepted: Collection[str] = ()
    confirmed: bool = False
    publish_at: datetime | None = None


def ask(
    *,
    author: Drafter,
    now: datetime,
    name: str = "",
    named: named_drafts.NamedDraft | None = None,
    zones: Collection[Zone] | None = None,
    terms: Terms = Terms(),
) -> PublishRequest:
    """Create a request to publish the draft after approval, automatically if `terms` has a time.

    The draft is `named`, or else the author's draft (only `zones`, if given), which is saved as `name`. Raise Forbidden
    if the author can't edit zones, and DraftRefused like `named_drafts.put_aside`. Raise RequestRefused if the draft
    already has a request or more than MOST_CHANGES changes. Also raise it if the reason is too long or lacks a required
    ticket, or if the time isn't in the future or is more than LATEST ahead.
    """
    access.require(author, Permission.EDIT)
    _refuse_time(terms.publish_at, now)
    made: list[PublishRequest] = []
    begin = partial(_begin, author=author, terms=terms, now=now, made=made)
    if named is None:
        named_drafts.put_aside(author=author, name=name, now=now, zones=zones, in_transaction=begin)
    else:
        named_drafts.set_down(by=author, named=named, now=now, in_transaction=begin)
    return made[0]


def ask_for_changes(
    *, author: Drafter, name: str, zones: Sequence[ZoneChanges], terms: Terms, now: datetime
) -> PublishRequest:
    """Create a request to publish these changes, as `ask` does for a draft. The author's draft stays unchanged.

    Raise the errors of `ask` and `save_changes`.
    """
    _refuse_time(terms.publish_at, now)
    made: list[PublishRequest] = []
    begin = partial(_begin, author=author, terms=terms, now=now, made=made)
    save_changes(author=author, name=name, zones=zones, now=now, in_transaction=begin)
    return made[0]


def _begin(draft: Draft, *, author: Drafter, terms: Terms, now: datetime, made: list[PublishRequest]) -> None:
    """Create the request for a draft that is being saved, and append it to `made`."""
    changed = Operation.objects.filter(draft=draft).values_list("zone", flat=True)
    if len(changed) > MOST_CHANGES:
        raise RequestRefused(
            gettext("A request can have at most {most_changes:,} changes, but this draft has {changed:,}.").format(
                most_changes=MOST_CHANGES, changed=len(changed)
            )
        )
    if PublishRequest.objects.filter(draft=draft, state=RequestState.OPEN).exists():
        raise RequestRefused(gettext("This draft is already waiting for approval."))
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


def approve(*, request: PublishRequest, by: Drafter, seen: str, now: datetime, text: str = "") -> RequestNote:
    """Approve the request if its content still has the digest `seen`. Return the note.

    The note replaces an earlier approval by the same person. Raise RequestRefused for a closed request, a person who
    isn't allowed to approve, or another digest. The rejection is recorded in the audit log.
    """
    with _refusal_told("approve", request, by, now), transaction.atomic():
        found = _lock_request(request)
        status = status_of(found, by)
        if not status.may_approve:
            raise RequestRefused(status.reason_not)
        if seen != status.digest:
            raise RequestRefused(
                gettext("The request has changed since you opened the page. Review it again before you decide.")
            )
        RequestNote.objects.filter(request=found, by=person(by), verdict=Verdict.APPROVE).delete()
        note = _note(found, by, Verdict.APPROVE, text, now, digests_of(status.plans))
        _record("request.approve", found, by, now, digest=seen)
        return note


def decline(*, request: PublishRequest, by: Drafter, now: datetime, text: str) -> RequestNote:
    """Decline the request and close it. Return the note with the reason `text`.

    The request's draft becomes an ordinary draft again. Raise RequestRefused if `text` is empty or too long, if the
    request is closed, or if the person isn't allowed to decline.
    """
    if not text.strip():
        raise RequestRefused(gettext("Enter a reason to decline the request."))
    with transaction.atomic():
        found = _lock_request(request)
        status = status_of(found, by)
        if not status.may_approve:
            raise RequestRefused(status.reason_not)
        note = _note(found, by, Verdict.DECLINE, text, now)
        _end(found, RequestState.DECLINED, by, now)
        _record("request.decline", found, by, now, reason=note.text)
        return note


def comment(*, request: PublishRequest, by: Drafter, now: datetime, text: str) -> RequestNote:
    """Add a comment for all readers. Raise RequestRefused for an invalid text, a closed request or too many notes."""
    if not text.strip():
        raise RequestRefused(gettext("Enter a comment."))
    with transaction.atomic():
        found = _lock_request(request)
        note = _note(found, by, Verdict.COMMENT, text, now)
        _record("request.comment", found, by, now)
        return note


def withdraw(*, request: PublishRequest, by: Drafter, now: datetime) -> None:
    """Withdraw an open request, but keep the draft. Raise RequestRefused unless `by` made it or owns the draft."""
    with transaction.atomic():
        found = _lock_request(request)
        _refuse_to_change(by, found)
        _end(found, RequestState.WITHDRAWN, by, now)
        _record("request.withdraw", found, by, now)


def publish_at_time(*, request: PublishRequest, by: Drafter, publish_at: datetime | None, now: datetime) -> None:
    """Set the time of automatic publication (None: never). Raise RequestRefused if the time or `by` isn't allowed."""
    _refuse_time(publish_at, now)
    with transaction.atomic():
        found = _lock_request(request)
        _refuse_to_change(by, found)
        PublishRequest.objects.filter(pk=found.pk).update(publish_at=publish_at, tried_at=None, refusal="")
        _record("request.time", found, by, now, **_at(publish_at))


def publish_request(
    *, request: PublishRequest, by: Drafter | None, channel: str, now: datetime, past_rules: str = ""
) -> Publication:
    """Publish the request in its author's name and with the author's current rights.

    `by` is the author, an approver, or None at the scheduled time. With a reason in `past_rules`, a person with the
    right to govern the zones bypasses the remaining rules, and is the publication's author. Raise RequestRefused if the
    request is closed, `by` isn't allowed to publish it, or someone has the draft open. Also raise it if the author's
    account is closed, the token revoked, or a change not visible to the author. Raise the errors of `revision.publish`.
    """
    draft = request.draft
    if draft is None or not request.is_open:
        raise RequestRefused(gettext("This request is closed."))
    author: Drafter = by if by is not None and past_rules else _author_of(request)
    if by is not None and past_rules:
        for plan in plans_of(request):
            access.require_right(by, plan.zone, Right.GOVERN)
    elif by is not None:
        _refuse_publisher(request, by, now)

    def passing(plans: Sequence[ZonePlan]) -> publish_guards.Passage:
        found = _lock_request(request)
        _refuse_draft_in_use(draft)
        if past_rules:
            return publish_guards.Passage(past_rules=True, request=found.pk)
        return _passage_by_approvals(found, draft, plans)

    if by is not None and person(by) != request.author:
        audit.record(action="request.publish", by=by, now=now, target=request.name, request=str(request.key))
    try:
        return revision.publish(
            acting=Acting(author, channel, now),
            of=named_drafts.NamedDraft(draft, is_own=True, may_edit=True),
            consent=revision.Consent(
                reason=past_rules or request.reason,
                accept_warnings=frozenset(request.accepted),
                confirmed=request.confirmed,
            ),
            passing=passing,
        )
    except DraftUnknown as gone:  # the draft was published at the same moment
        raise RequestRefused(gettext("This request is closed.")) from gone


def _refuse_publisher(request: PublishRequest, by: Drafter, now: datetime) -> None:
    """Raise RequestRefused unless the person is allowed to publish the request, as its author or as an approver."""
    status = status_of(request, by)
    if not status.may_publish:
        with _refusal_told("publish", request, by, now):
            raise RequestRefused(
                gettext(
                    "Only the requester or an approver can publish this request, and only once it has enough approvals."
                )
            )
    if status.is_own:
        _refuse_to_change(by, request)


def _refuse_draft_in_use(draft: Draft) -> None:
    if holder := User.objects.filter(draft=draft).first():
        raise RequestRefused(
            gettext(
                "{username} is working on the draft. The request can be published once the draft has been saved again."
            ).format(username=holder.username)
        )


def _passage_by_approvals(request: PublishRequest, draft: Draft, plans: Sequence[ZonePlan]) -> publish_guards.Passage:
    """Return a Passage with the approvers that count. Raise RequestRefused if the plans don't include all changes."""
    if Operation.objects.filter(draft=draft).count() != sum(change_count(plan) for plan in plans):
        raise RequestRefused(
            gettext("The requester can no longer see all zones in the request, or some zones were deleted.")
        )
    approvals = approvals_of(request, digests_of(plans))
    return publish_guards.Passage(frozenset(approvers_of(approvals, humans_involved(request))), request=request.pk)


def publish_due(*, now: datetime) -> int:
    """Publish due requests, at most MOST_LOOKED_AT in one call. Return the number of publications.

    Each request is tried once. If it is rejected, the reason is stored in the request, and the author can set a new
    time. While publishing is on hold, all requests wait. If a request's creation time is in the future, the clock was
    set back, which is noted once in the request and the audit log.
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
    """Note in the request and the audit log that the clock was set back, which delays the request."""
    clock = f"{now.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
    refusal = gettext(
        "The panel’s clock was set back to {clock}. The request will still be published at the scheduled time."
    ).format(clock=clock)
    with transaction.atomic():
        if PublishRequest.objects.filter(pk=request.pk, refusal="").update(refusal=refusal):
            _record_refusal("publish", request, None, now, refusal)


def _refuse_without_ticket(draft: Draft, zone_ids: Collection[int], reason: str) -> None:
    zones = Zone.objects.in_bulk(zone_ids)
    rules = publish_guards.rules_about(zones.values())
    types = types_by_zone([draft.pk]) if rules.approval else {}
    for (_, zone_id), of_zone in types.items():
        for rule in rules.of(zones[zone_id]).approval:
            if rule.ticket and publish_guards.is_concerned(rule, of_zone) and not ticket_in(reason, rule.ticket):
                raise RequestRefused(
                    gettext("Enter a ticket such as {ticket} in the reason: {reason}.").format(
                        ticket=rule.ticket, reason=rule.reason.rstrip(".")
                    )
                )


def _refuse_to_change(by: Drafter, request: PublishRequest) -> None:
    """Raise RequestRefused unless `by` made the request or owns the draft.

    Raise RightMissing if `by` is a token that isn't allowed to make the draft's changes.
    """
    if person(by).pk not in owners_of(request):
        raise RequestRefused(gettext("Only the requester can change this request."))
    if token_of(by) is not None:
        for plan in plans_of(request):
            access.refuse_changes(by, plan.zone, plan.changes)


def _author_of(request: PublishRequest) -> Actor:
    """Return the request's author with current rights. Raise RequestRefused for a closed account or revoked token."""
    if request.by_token and (request.token is None or request.token.revoked_at is not None):
        raise RequestRefused(gettext("The token that created this request was revoked."))
    actor = actor_of_token(request.token) if request.token is not None else None
    if request.token is None and request.author is not None:
        actor = actor_of(request.author)
    if actor is None:
        raise RequestRefused(gettext("The requester’s account is closed."))
    return actor


def _lock_request(request: PublishRequest) -> PublishRequest:
    """Lock and return the request. Raise RequestRefused if it is closed."""
    related = PublishRequest.objects.select_for_update(of=("self",), no_key=True).select_related("draft", "author")
    found = related.filter(pk=request.pk).first()
    if found is None or not found.is_open:
        raise RequestRefused(gettext("This request is closed."))
    return found


def _end(request: PublishRequest, state: RequestState, by: Drafter, now: datetime) -> None:
    PublishRequest.objects.filter(pk=request.pk).update(state=state, ended_at=now, ended_by=person(by), draft=None)


def _note(
    request: PublishRequest, by: Drafter, verdict: Verdict, text: str, now: datetime, seen: Seen | None = None
) -> RequestNote:
    if RequestNote.objects.filter(request=request).count() >= MOST_NOTES:
        raise RequestRefused(gettext("A request can have at most {most_notes} comments.").format(most_notes=MOST_NOTES))
    return RequestNote.objects.create(
        request=request, by=person(by), token=token_of(by), at=now, verdict=verdict, text=_text(text), seen=seen or {}
    )


def _text(text: str) -> str:
    text = text.strip()
    if len(text) > LONGEST_TEXT or "\0" in text:
        raise RequestRefused(gettext("Enter at most {longest_text:,} characters.").format(longest_text=LONGEST_TEXT))
    return text


def _refuse_time(publish_at: datetime | None, now: datetime) -> None:
    if publish_at is not None and not now < publish_at <= now + LATEST:
        raise RequestRefused(gettext("Enter a time within the next year."))


def _at(publish_at: datetime | None) -> dict[str, str]:
    return {} if publish_at is None else {"publish_at": f"{publish_at.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"}


@contextmanager
def _refusal_told(act: str, request: PublishRequest, by: Drafter, now: datetime) -> Iterator[None]:
    """Record a RequestRefused error of the block in the audit log, after the block's rollback."""
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
