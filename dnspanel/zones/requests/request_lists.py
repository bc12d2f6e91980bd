"""List requests for a reader: own, waiting and scheduled ones, and those that bypassed rules."""

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from urllib.parse import quote
from uuid import UUID

from django.db.models import Exists, OuterRef, Prefetch

from dnspanel.accounts.actors.actors import token_of
from dnspanel.accounts.people.same_person import humans_of
from dnspanel.database.first_rows import first_or
from dnspanel.zones.drafts.draft import Drafter, person
from dnspanel.zones.errors import RequestUnknown
from dnspanel.zones.governance import publish_guards
from dnspanel.zones.governance.freeze_times import next_begin
from dnspanel.zones.governance.ticket_patterns import ticket_in
from dnspanel.zones.models import (
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
from dnspanel.zones.requests.request_status import (
    ApprovalState,
    Demand,
    accounts_involved,
    approval_state_of,
    planned_for,
)
from dnspanel.zones.rights import access

MOST_NOTES = 200
MOST_LOOKED_AT = 200  # open requests that are examined for a person's approval
# For this time, pages show requests that bypassed rules.
PAST_RULES_LISTED = timedelta(days=30)
MOST_PLANNED = 5  # named on a page
MOST_SCHEDULED = 1_000  # of a period
FREEZES_SOON = timedelta(days=3)


@dataclass(frozen=True, slots=True)
class ZoneCalendar:
    """A zone's scheduled requests, current freezes with their ends, and freezes that start soon with their starts."""

    planned: tuple[PublishRequest, ...] = ()
    frozen: tuple[tuple[Freeze, datetime], ...] = ()
    soon: tuple[tuple[Freeze, datetime], ...] = ()


@dataclass(frozen=True, slots=True)
class Attention:
    """Requests and freezes that need a person's attention.

    These are requests waiting for the person's approval, and the person's own failed, declined and scheduled requests.
    Also included are panel-wide freezes: current ones with their ends, and those that start soon with their starts.
    """

    waiting: tuple[PublishRequest, ...] = ()
    late: tuple[PublishRequest, ...] = ()
    returned: tuple[PublishRequest, ...] = ()
    planned: tuple[PublishRequest, ...] = ()
    frozen: tuple[tuple[Freeze, datetime], ...] = ()
    soon: tuple[tuple[Freeze, datetime], ...] = ()


def request_for(reader: Drafter, key: UUID) -> PublishRequest:
    """Return the request with this key. Raise RequestUnknown unless the reader made it or can see one of its zones.

    A token that didn't make the request must see all zones of the request completely, because actions affect all of
    them.
    """
    related = PublishRequest.objects.select_related("draft__owner", "author", "token__owner", "ended_by", "publication")
    found = first_or(related.filter(key=key), RequestUnknown)
    if not _is_known_to(reader, found):
        raise RequestUnknown
    return found


def notes_of(request: PublishRequest) -> list[RequestNote]:
    """Return the notes of the request, oldest first."""
    return list(request.notes.select_related("by", "token").order_by("pk")[:MOST_NOTES])


def requests_of(reader: Drafter, *, before: int | None = None, limit: int = 50) -> list[PublishRequest]:
    """Return the reader's requests, newest first; for a token, its owner's recent requests that the token can see."""
    found = PublishRequest.objects.filter(author=person(reader)).select_related(
        "draft", "author", "token", "ended_by", "publication"
    )
    if before is not None:
        found = found.filter(pk__lt=before)
    if token_of(reader) is not None:
        return [each for each in found.order_by("-pk")[:MOST_LOOKED_AT] if _is_known_to(reader, each)][:limit]
    return list(found.order_by("-pk")[:limit])


def scheduled_between(reader: Drafter, begin: datetime, end: datetime) -> list[PublishRequest]:
    """Return the reader's requests, and those for zones that the reader can see, with a time in the period.

    The earliest comes first. Only the first MOST_SCHEDULED requests of the period are examined.
    """
    planned = PublishRequest.objects.filter(state=RequestState.OPEN, draft__isnull=False)
    found = list(planned.filter(publish_at__gte=begin, publish_at__lt=end).order_by("publish_at")[:MOST_SCHEDULED])
    about = {pk for each in found for pk in each.zone_ids}
    seen = {*access.zones_visible_to(reader).filter(pk__in=about).values_list("pk", flat=True)} if about else set()
    return [each for each in found if each.author_id == person(reader).pk or not seen.isdisjoint(each.zone_ids)]


def waiting_for(reader: Drafter) -> list[PublishRequest]:
    """Return requests that wait for the reader's approval, oldest first. Check at most MOST_LOOKED_AT requests.

    Omit requests that are fully approved, or that the reader approved after the draft's last edit.
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
    types = types_by_zone([each.draft_id for each in found if each.draft_id is not None])
    me, humans = publish_guards.approver(user), humans_of({pk for each in found for pk in accounts_involved(each)})
    approved = dict(
        RequestNote.objects.filter(request__in=found, by=user, verdict=Verdict.APPROVE).values_list("request", "at")
    )
    waiting = [
        each
        for each in found
        if each.draft is not None
        and not any(humans.get(pk) == user.human_id for pk in accounts_involved(each))
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
    reached = approval_states(waiting)
    return [each for each in waiting if reached[each.pk] is not ApprovalState.APPROVED]


def approval_states(requests: Iterable[PublishRequest]) -> dict[int, ApprovalState]:
    """Return the approval state of each open request, keyed by id. The drafts must be loaded.

    Only approvals after the draft's last edit count. Needs two queries if there are no approval rules.
    """
    drafts = {each: each.draft for each in requests if each.is_open and each.draft is not None}
    zones = Zone.objects.in_bulk({pk for each in drafts for pk in each.zone_ids}) if drafts else {}
    rules = publish_guards.rules_about(zones.values())
    if not rules.approval:
        return {each.pk: ApprovalState.READY for each in drafts}
    types = types_by_zone([draft.pk for draft in drafts.values()])
    humans = humans_of({pk for each in drafts for pk in accounts_involved(each)})
    notes = list(RequestNote.objects.filter(request__in=drafts, verdict=Verdict.APPROVE).select_related("by"))
    people = {note.by: publish_guards.approver(note.by) for note in notes if note.by is not None}
    found = {}
    for each, draft in drafts.items():
        involved = {humans.get(pk) for pk in accounts_involved(each)}
        mine = [note.by for note in notes if note.request_id == each.pk and note.at > draft.changed_at and note.by]
        given = [people[by] for by in mine if by.human_id not in involved]
        concerned = {
            rule.pk: rule
            for zone in (zones[pk] for pk in each.zone_ids if pk in zones)
            for rule in rules.of(zone).approval
            if publish_guards.is_concerned(rule, types.get((draft.pk, zone.pk), Counter()))
        }
        demands = (Demand(rule, publish_guards.approvals_given(rule, given)) for rule in concerned.values())
        found[each.pk] = approval_state_of(demands)
    return found


def past_rules_lately(reader: Drafter, *, since: datetime) -> list[PublishRequest]:
    """Return requests that bypassed rules at `since` or later, newest first, among the newest MOST_LOOKED_AT of them.

    Only requests with at least one zone that the reader can see are returned.
    """
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
    """Return the request that led to this publication, or None if none did. Its `notes` are only the approvals."""
    approvals = RequestNote.objects.filter(verdict=Verdict.APPROVE).select_related("by").order_by("pk")
    found = PublishRequest.objects.filter(publication=publication).prefetch_related(Prefetch("notes", approvals))
    return found.first()


def ticket_link(reason: str, zones: Collection[Zone]) -> tuple[str, str]:
    """Return the ticket named in a reason, and its URL from the zones' approval rules.

    Both are "" if no rule has a URL and matches a ticket in the reason. Needs one query if no rules exist, and none if
    the reason has no digits.
    """
    if not any(map(str.isdigit, reason)):
        return "", ""
    for rule in publish_guards.rules_about(zones).approval:
        if rule.ticket_link and (ticket := ticket_in(reason, rule.ticket)):
            return ticket, rule.ticket_link.replace("{ticket}", quote(ticket, safe=""))
    return "", ""


def calendar_of(zone: Zone, now: datetime, known: publish_guards.Rules | None = None) -> ZoneCalendar:
    """Return a zone's scheduled requests and freezes. Needs one query if the zone has neither, like most zones.

    `known` is the result of `rules_for` with this zone as `displayed`. No query is needed if it shows that the zone has
    neither.
    """
    if known is not None and not known.freezes and not known.is_planned:
        return ZoneCalendar()
    planned, frozen = planned_for(zone), Freeze.objects.filter(publish_guards.about([zone]))
    if not planned.values_list("pk").union(frozen.values_list("pk")):
        return ZoneCalendar()
    rules = publish_guards.Rules(freezes=tuple(frozen.select_related("zone", "team").order_by("pk")))
    soon = ((freeze, next_begin(freeze, now)) for freeze in rules.freezes)
    return ZoneCalendar(
        planned=tuple(planned.select_related("author").order_by("publish_at")[:MOST_PLANNED]),
        frozen=tuple(publish_guards.freezes_now(rules, now)),
        soon=tuple((freeze, at) for freeze, at in soon if at is not None and at <= now + FREEZES_SOON),
    )


def attention_of(reader: Drafter, now: datetime) -> Attention:
    """Return the requests and panel-wide freezes that need the reader's attention. Needs one query if none exist.

    A declined request stays in the list until its draft is published, discarded or resumed.
    """
    waiting = PublishRequest.objects.filter(state=RequestState.OPEN, draft__isnull=False)
    # The refusal separates a draft from its request, so that its owner can ask again. The name still connects the two.
    left = Draft.objects.filter(owner=person(reader), name=OuterRef("name"), author=None, request=None)
    returned = PublishRequest.objects.filter(Exists(left), state=RequestState.DECLINED, author=person(reader))
    freezes = Freeze.objects.filter(zone=None, team=None, tag="")
    if not waiting.values_list("pk").union(returned.values_list("pk"), freezes.values_list("pk")):
        return Attention()
    own = list(waiting.filter(author=person(reader), publish_at__isnull=False).order_by("publish_at", "pk"))
    rules = publish_guards.Rules(freezes=tuple(freezes.select_related("zone", "team").order_by("pk")))
    begins = ((freeze, next_begin(freeze, now)) for freeze in rules.freezes)
    return Attention(
        waiting=tuple(waiting_for(reader)),
        late=tuple(each for each in own if each.refusal),
        returned=tuple({each.name: each for each in returned.order_by("ended_at")}.values()),
        planned=tuple(each for each in own if not each.refusal),
        frozen=tuple(publish_guards.freezes_now(rules, now)),
        soon=tuple((freeze, at) for freeze, at in begins if at is not None and at <= now + FREEZES_SOON),
    )


def types_by_zone(drafts: Collection[int]) -> dict[tuple[int | None, int], Counter[int]]:
    """Count the changed RRsets in drafts by type, for each draft and zone."""
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
