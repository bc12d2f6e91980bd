"""Collect the dashboard's lines about things that need attention, in groups, each line with a link.

A line is shown only to users who are allowed to see its object.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import chain
from urllib.parse import urlencode

from django.urls import reverse

from dnspanel.accounts.actors.actors import Permission, actor_of, can
from dnspanel.accounts.models import User
from dnspanel.accounts.tokens.tokens import alive_tokens, tokens_visible_to
from dnspanel.alerts.queries import open_lines
from dnspanel.fleet.models import NodeState
from dnspanel.fleet.node_health import FAULTS, WELL
from dnspanel.fleet.reads.queries import NodeStatus
from dnspanel.texts import gettext, ngettext
from dnspanel.transfer.job_rights import jobs_visible_to
from dnspanel.transfer.models import State
from dnspanel.web.alerts.alert_rows import TONES, links_of
from dnspanel.web.frame.rows import row_address
from dnspanel.zones.dnssec.rollover_queries import stuck, under_way
from dnspanel.zones.lists.queries import DraftCounts
from dnspanel.zones.log.publish_hold import current_hold
from dnspanel.zones.models import Draft, Expiry, Publication, PublishRequest
from dnspanel.zones.publishing.expiry import expiring
from dnspanel.zones.requests.request_lists import Attention, attention_of
from replication.dns import rdata

MOST_LISTED = 25  # lines of a group
MOST_AT_ONCE = 5  # lines of a group that are visible at once
MOST_READ = 100  # objects of one kind
OLD_DRAFT = timedelta(days=1)
TOKEN_ENDS_SOON = timedelta(days=14)
EXPIRES_SOON = timedelta(days=7)
FAILED_IMPORTS_SINCE = timedelta(days=7)
REVERTED_SINCE = timedelta(days=1)


@dataclass(frozen=True, slots=True)
class Line:
    """A line about one thing that needs attention, or about several equal ones. `tone` is bad, warn or info.

    `act` is the link's text if it isn't "View details". The thing began at `since`, or happens at `ends`.
    """

    tone: str
    icon: str
    text: str
    url: str
    act: str = ""
    since: datetime | None = None
    ends: datetime | None = None
    is_until: bool = False  # whether the thing ends at `ends`
    count: int = 1


@dataclass(frozen=True, slots=True)
class Group:
    """Lines about one topic, most urgent first."""

    key: str
    title: str
    lines: Sequence[Line]

    @property
    def count(self) -> int:
        """The number of things that the lines are about."""
        return sum(line.count for line in self.lines)

    @property
    def first(self) -> Sequence[Line]:
        return self.lines[:MOST_AT_ONCE]

    @property
    def behind(self) -> Sequence[Line]:
        """The lines that are shown only on request."""
        return self.lines[MOST_AT_ONCE:MOST_LISTED]

    @property
    def rest(self) -> int:
        return sum(line.count for line in self.lines[MOST_LISTED:])

    @property
    def tone(self) -> str:
        """The tone of the most urgent line."""
        return min((line.tone for line in self.lines), key=("bad", "warn", "info").index)


def attention_groups(
    person: User, statuses: Sequence[NodeStatus], counts: Sequence[DraftCounts], now: datetime
) -> list[Group]:
    """Return the groups that have lines. The number of queries does not depend on the number of lines."""
    requests = attention_of(person, now) if can(person, Permission.READ) else Attention()
    expiries = expiring(person, until=now + EXPIRES_SOON, limit=MOST_READ)
    waiting = chain(_of_requests(requests), _of_draft(person, counts, now))
    problems = chain(
        _of_hold(person),
        _of_freezes(requests),
        _of_fleet(person, statuses, now),
        _of_publications(person, now),
        _of_rollovers(person),
        _of_imports(person, now),
        _of_expiries([each for each in expiries if each.refusal]),
    )
    soon = chain(
        _of_tokens(person, now),
        _of_expiries([each for each in expiries if not each.refusal]),
        _of_plans(requests),
        _of_moving_rollovers(person),
    )
    groups = (
        Group("waiting", gettext("Waiting for you"), _by_urgency(waiting)),
        Group("problems", gettext("Problems"), _by_urgency(problems)),
        Group("soon", gettext("Soon"), _by_urgency(soon)),
    )
    return [group for group in groups if group.lines]


def _by_urgency(lines: Iterable[Line]) -> list[Line]:
    """Sort lines: bad ones first, then by time, and lines without a time last. Merge lines with the same text."""
    last = datetime.max.replace(tzinfo=UTC)
    equal: dict[str, list[Line]] = {}
    for line in sorted(lines, key=lambda line: (line.tone != "bad", line.ends or line.since or last)):
        equal.setdefault(line.text, []).append(line)
    return [line if not more else _merge_line(line, len(more) + 1) for line, *more in equal.values()]


def _merge_line(line: Line, count: int) -> Line:
    text = gettext("{title} (×{count:,})").format(title=line.text, count=count)
    return replace(line, text=text, count=count)


def _of_hold(person: User) -> Iterator[Line]:
    hold = current_hold()
    if hold is not None:
        url = reverse("node-hold") if can(person, Permission.FLEET) else reverse("changes")
        text = gettext("Publishing is on hold: {reason}").format(reason=hold.reason)
        yield Line("bad", "error", text, url, since=hold.since)


def _of_fleet(person: User, statuses: Sequence[NodeStatus], now: datetime) -> Iterator[Line]:
    """Yield lines about alerts that need the person's attention, and about unhealthy nodes without an alert."""
    if not can(person, Permission.FLEET):
        return
    lines = open_lines(now=now)
    for line in lines:
        if line.needs_attention_of(person.pk):
            links = links_of(line.alert, person) if len(line.alerts) == 1 else []
            url = links[0].url if links else f"{reverse('alert-list')}?{urlencode({'open': line.key})}"
            tone = TONES[line.alert.severity]
            yield Line(tone, "bell", line.text, url, since=line.since, count=len(line.alerts))
    alerted = {alert.node_id for line in lines for alert in line.alerts}
    for status in statuses:
        node, health = status.node, status.health
        if node.state == NodeState.ACTIVE and health.word not in WELL and node.pk not in alerted:
            tone = "bad" if health.word in FAULTS else "warn"
            text = gettext("{name}: {message}").format(name=node.name, message=health.message)
            yield Line(tone, "nodes", text, reverse("node-detail", args=[node.name]), since=node.contact_at)


def _of_publications(person: User, now: datetime) -> Iterator[Line]:
    """Yield lines about the person's own recently reverted publications, which alerts don't include."""
    reverted = Publication.objects.filter(author=person, failed_at__gte=now - REVERTED_SINCE)
    for each in reverted.order_by("-failed_at")[:MOST_READ]:
        text = gettext("Your publication was reverted: {reason}").format(reason=each.failed_reason)
        yield Line("warn", "history", text, reverse("publication", args=[each.sequence]), since=each.failed_at)


def _of_rollovers(person: User) -> Iterator[Line]:
    for each in stuck(person, limit=MOST_READ):
        url = reverse("zone-dnssec", args=[each.zone.name])
        text = gettext("A key rollover for {name} is stuck: {waits_for}")
        text = text.format(name=each.zone.name, waits_for=each.waits_for)
        yield Line("warn", "key", text, url, since=each.waits_since)


def _of_moving_rollovers(person: User) -> Iterator[Line]:
    """Yield a line about key rollovers that aren't stuck: the next step of a single one, or the number of several."""
    rollovers, has_more = under_way(person, limit=MOST_READ)
    moving = [each for each in rollovers if not each.is_stuck]
    if len(moving) == 1:
        name, waits_for = moving[0].zone.name, moving[0].waits_for
        text = gettext("Key rollover for {name}: {waits_for}").format(name=name, waits_for=waits_for)
        yield Line("info", "key", text, reverse("zone-dnssec", args=[name]), since=moving[0].waits_since)
    elif moving:
        number = f"{len(moving)}+" if has_more else len(moving)
        text = gettext("Key rollovers in progress: {number}").format(number=number)
        yield Line("info", "key", text, reverse("zone-rollovers"), count=len(moving))


def _of_imports(person: User, now: datetime) -> Iterator[Line]:
    """Yield lines about the person's own imports that failed recently and weren't retried."""
    if not can(person, Permission.EDIT):
        return
    failed = jobs_visible_to(person).filter(
        author=person, state=State.FAILED, ended_at__gte=now - FAILED_IMPORTS_SINCE, retries=None
    )
    for job in failed.order_by("-pk")[:MOST_READ]:
        url = reverse("import-detail", args=[job.pk])
        text = gettext("Your import {title} failed").format(title=job.title)
        yield Line("bad", "import", text, url, gettext("View error"), since=job.ended_at)


def _of_draft(person: User, counts: Sequence[DraftCounts], now: datetime) -> Iterator[Line]:
    if not counts:
        return
    draft = Draft.objects.filter(author=person, changed_at__lt=now - OLD_DRAFT).first()
    if draft is not None:
        changes = sum(count.total for count in counts)
        what = ngettext("{changes:,} change", "{changes:,} changes", changes).format(changes=changes)
        where = ngettext("{counts:,} zone", "{counts:,} zones", len(counts)).format(counts=len(counts))
        text = gettext("Your draft has unpublished changes: {what} in {where}").format(what=what, where=where)
        yield Line("warn", "edit", text, reverse("changes"), gettext("Review"), since=draft.changed_at)


def _of_tokens(person: User, now: datetime) -> Iterator[Line]:
    """Yield lines about visible tokens that expire soon and have no successor."""
    actor = actor_of(person)
    if actor is None:
        return
    ending = tokens_visible_to(actor).filter(
        pk__in=alive_tokens(now).values("pk"), expires_at__lt=now + TOKEN_ENDS_SOON, rotated_to=None
    )
    for token in ending.select_related("owner").order_by("expires_at")[:MOST_READ]:
        is_own = token.owner_id == person.pk
        text = gettext("Your token {purpose} expires") if is_own else gettext("{username}’s token {purpose} expires")
        text = text.format(username=token.owner.username, purpose=token.purpose)
        url = reverse("token-detail", args=[token.pk])
        yield Line("warn", "key", text, url, gettext("Rotate"), ends=token.expires_at)


def _of_requests(requests: Attention) -> Iterator[Line]:
    """Yield lines about requests waiting for the person, and about the person's overdue and declined requests."""
    for each in requests.late:
        text = gettext("“{name}” wasn’t published as scheduled: {refusal}")
        text = text.format(name=each.name, refusal=each.refusal)
        yield Line("bad", "clock", text, _url_of_request(each), since=each.tried_at)
    for each in requests.waiting:
        whose = each.author.username if each.author else gettext("Someone")
        text = gettext("{whose} requested your approval: {name}").format(whose=whose, name=each.name)
        yield Line("warn", "people", text, _url_of_request(each), gettext("Review"), since=each.asked_at)
    for each in requests.returned:
        text = gettext("Your request “{name}” was declined").format(name=each.name)
        yield Line("warn", "edit", text, _url_of_request(each), since=each.ended_at)


def _url_of_request(request: PublishRequest) -> str:
    return reverse("draft-request", args=[request.key])


def _of_freezes(requests: Attention) -> Iterator[Line]:
    for freeze, until in requests.frozen:
        text = gettext("Publishing is frozen: {reason}").format(reason=freeze.reason)
        yield Line("warn", "lock", text, reverse("draft-requests"), ends=until, is_until=True)


def _of_plans(requests: Attention) -> Iterator[Line]:
    """Yield lines about the person's scheduled requests and the next panel-wide freezes."""
    for each in requests.planned:
        text = gettext("“{name}” will be published").format(name=each.name)
        yield Line("info", "clock", text, _url_of_request(each), ends=each.publish_at)
    for freeze, begins in requests.soon:
        text = gettext("Publishing will be frozen: {reason}").format(reason=freeze.reason)
        yield Line("info", "lock", text, reverse("draft-requests"), ends=begins)


def _of_expiries(expiries: Sequence[Expiry]) -> Iterator[Line]:
    """Yield lines about records that will be removed soon, and about expired records whose removal was refused."""
    for expiry in expiries:
        what = f"{expiry.name} {rdata.type_to_text(expiry.type)}"
        url = row_address(expiry.zone.name, expiry.name, expiry.type)
        if expiry.refusal:
            text = gettext("{what} expired but wasn’t removed: {refusal}").format(what=what, refusal=expiry.refusal)
            yield Line("bad", "clock", text, url, since=expiry.remove_at)
        else:
            text = gettext("{what} will be removed").format(what=what)
            yield Line("info", "clock", text, url, ends=expiry.remove_at)
