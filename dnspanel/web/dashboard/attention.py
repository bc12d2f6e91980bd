"""Dashboard lines about things that need attention, each with a link.

A line is shown only to people who are allowed to see its object.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from urllib.parse import urlencode

from django.urls import reverse
from django.utils import timezone

from dnspanel.accounts.actors.actors import actor_of, can
from dnspanel.accounts.actors.roles import Permission
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
from dnspanel.zones.dnssec.rollover_queries import stuck
from dnspanel.zones.lists.queries import DraftCounts
from dnspanel.zones.log.publish_hold import current_hold
from dnspanel.zones.models import Draft, PublishRequest
from dnspanel.zones.publishing.expiry import expiring
from dnspanel.zones.requests.request_lists import attention_of
from replication.dns import rdata

MOST_LINES = 5  # of one kind
OLD_DRAFT = timedelta(days=1)
TOKEN_ENDS_SOON = timedelta(days=14)
EXPIRES_SOON = timedelta(days=7)
FAILED_IMPORTS_SINCE = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class Line:
    """One thing that needs attention. `tone` is bad or warn, and `act` is the text of the link."""

    tone: str
    icon: str
    text: str
    since: datetime | None
    url: str
    act: str
    ends: datetime | None = None


def attention_lines(
    person: User, statuses: Sequence[NodeStatus], counts: Sequence[DraftCounts], now: datetime
) -> list[Line]:
    """Return the lines, worst first, at most MOST_LINES of each kind. Without any line, this takes eight queries."""
    lines = [
        *_of_hold(person),
        *_of_fleet(person, statuses),
        *_of_rollovers(person),
        *_of_imports(person, now),
        *_of_draft(person, counts, now),
        *_of_tokens(person, now),
        *_of_expiries(person, now),
        *_of_requests(person, now),
    ]
    return sorted(lines, key=lambda line: line.tone != "bad")


def _of_hold(person: User) -> Iterator[Line]:
    hold = current_hold()
    if hold is not None:
        url = reverse("node-hold") if can(person, Permission.FLEET) else reverse("changes")
        yield Line(
            "bad",
            "error",
            gettext("Publishing is on hold: {reason}").format(reason=hold.reason),
            hold.since,
            url,
            gettext("View details"),
        )


def _of_fleet(person: User, statuses: Sequence[NodeStatus]) -> Iterator[Line]:
    """Yield lines about open alerts, and about unhealthy nodes that have no alert yet."""
    if not can(person, Permission.FLEET):
        return
    lines = open_lines(now=timezone.now())
    told = {alert.node_id for line in lines for alert in line.alerts}
    urgent = [line for line in lines if line.needs_attention_of(person.pk)]
    for line in urgent[:MOST_LINES]:
        links = links_of(line.alert, person) if len(line.alerts) == 1 else []
        url = links[0].url if links else f"{reverse('alert-list')}?{urlencode({'open': line.key})}"
        tone = TONES[line.alert.severity]
        yield Line(tone, "bell", line.text, line.since, url, gettext("View details"))
    if (more := sum(len(line.alerts) for line in urgent[MOST_LINES:])) > 0:
        yield Line(
            "warn",
            "bell",
            gettext("{more:,} more open alerts").format(more=more),
            None,
            reverse("alert-list"),
            gettext("All alerts"),
        )
    ill = [s for s in statuses if s.node.state == NodeState.ACTIVE and s.health.word not in WELL]
    for status in [each for each in ill if each.node.pk not in told][:MOST_LINES]:
        tone = "bad" if status.health.word in FAULTS else "warn"
        text = gettext("{name} is {word}: {message}").format(
            name=status.node.name, word=status.health.word, message=status.health.message
        )
        url = reverse("node-detail", args=[status.node.name])
        yield Line(tone, "nodes", text, status.node.contact_at, url, gettext("View details"))


def _of_rollovers(person: User) -> Iterator[Line]:
    for rollover in stuck(person, limit=MOST_LINES):
        text = gettext("A key rollover of {name} is stuck: {waits_for}").format(
            name=rollover.zone.name, waits_for=rollover.waits_for
        )
        url = reverse("zone-dnssec", args=[rollover.zone.name])
        yield Line("warn", "key", text, rollover.waits_since, url, gettext("View details"))


def _of_imports(person: User, now: datetime) -> Iterator[Line]:
    """Yield lines about the person's own imports that failed recently and weren't retried."""
    if not can(person, Permission.EDIT):
        return
    failed = jobs_visible_to(person).filter(
        author=person, state=State.FAILED, ended_at__gte=now - FAILED_IMPORTS_SINCE, retries=None
    )
    for job in failed.order_by("-pk")[:MOST_LINES]:
        url = reverse("import-detail", args=[job.pk])
        yield Line(
            "bad",
            "import",
            gettext("Your import {title} failed").format(title=job.title),
            job.ended_at,
            url,
            gettext("View error"),
        )


def _of_draft(person: User, counts: Sequence[DraftCounts], now: datetime) -> Iterator[Line]:
    if not counts:
        return
    draft = Draft.objects.filter(author=person, changed_at__lt=now - OLD_DRAFT).first()
    if draft is not None:
        changes = sum(count.total for count in counts)
        what = ngettext("{changes:,} change", "{changes:,} changes", changes).format(changes=changes)
        where = ngettext("{counts:,} zone", "{counts:,} zones", len(counts)).format(counts=len(counts))
        text = gettext("Your draft has unpublished changes: {what} in {where}").format(what=what, where=where)
        yield Line("warn", "edit", text, draft.changed_at, reverse("changes"), gettext("Review"))


def _of_tokens(person: User, now: datetime) -> Iterator[Line]:
    """Yield lines about visible tokens that expire soon and have no successor."""
    actor = actor_of(person)
    if actor is None:
        return
    ending = tokens_visible_to(actor).filter(
        pk__in=alive_tokens(now).values("pk"), expires_at__lt=now + TOKEN_ENDS_SOON, rotated_to=None
    )
    for token in ending.select_related("owner").order_by("expires_at")[:MOST_LINES]:
        whose = gettext("{username}'s token").format(username=token.owner.username)
        if token.owner_id == person.pk:
            whose = gettext("Your token")
        url = reverse("token-detail", args=[token.pk])
        yield Line(
            "warn",
            "key",
            gettext("{whose} {purpose} expires").format(whose=whose, purpose=token.purpose),
            None,
            url,
            gettext("Rotate"),
            ends=token.expires_at,
        )


def _of_requests(person: User, now: datetime) -> Iterator[Line]:
    """Yield lines about panel-wide freezes, requests waiting for the person, and the person's overdue requests."""
    if not can(person, Permission.READ):
        return
    told = attention_of(person, now)
    for freeze, until in told.frozen:
        text = gettext("Publishing is frozen: {reason}").format(reason=freeze.reason)
        yield Line("warn", "lock", text, None, reverse("draft-requests"), gettext("Requests"), ends=until)
    for request in told.late:
        text = gettext("“{name}” was not published as scheduled: {refusal}").format(
            name=request.name, refusal=request.refusal
        )
        yield Line("bad", "clock", text, request.tried_at, _address_of(request), gettext("View details"))
    for request in told.waiting[:MOST_LINES]:
        whose = request.author.username if request.author else gettext("Someone")
        text = gettext("{whose} requests your approval: {name}").format(whose=whose, name=request.name)
        yield Line("warn", "people", text, request.asked_at, _address_of(request), gettext("Review"))


def _address_of(request: PublishRequest) -> str:
    return reverse("draft-request", args=[request.key])


def _of_expiries(person: User, now: datetime) -> Iterator[Line]:
    """Yield lines about records that will expire within a week, and expired records whose removal was refused."""
    for expiry in expiring(person, until=now + EXPIRES_SOON, limit=MOST_LINES):
        what = f"{expiry.name} {rdata.type_to_text(expiry.type)}"
        url = row_address(expiry.zone.name, expiry.name, expiry.type)
        if expiry.refusal:
            yield Line(
                "bad",
                "clock",
                gettext("{what} expired, but was not removed: {refusal}").format(what=what, refusal=expiry.refusal),
                expiry.remove_at,
                url,
                gettext("View details"),
            )
        else:
            yield Line(
                "warn",
                "clock",
                gettext("{what} will be removed").format(what=what),
                None,
                url,
                gettext("View details"),
                ends=expiry.remove_at,
            )
