"""What needs a person's attention, each as a line that leads somewhere; nothing is told to who may not see it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.urls import reverse

from dnspanel.accounts.actors import actor_of, can
from dnspanel.accounts.models import User
from dnspanel.accounts.roles import Permission
from dnspanel.accounts.tokens import alive_tokens, tokens_visible_to
from dnspanel.alerts.models import Alert, Severity
from dnspanel.alerts.queries import open_alerts
from dnspanel.fleet.health import FAULTS, WELL
from dnspanel.fleet.models import NodeState
from dnspanel.fleet.reads.queries import NodeStatus
from dnspanel.transfer.models import State
from dnspanel.transfer.rights import jobs_visible_to
from dnspanel.web.rows import row_address
from dnspanel.zones.dnssec.rollover_queries import stuck
from dnspanel.zones.expiry import expiring
from dnspanel.zones.hold import current_hold
from dnspanel.zones.models import Draft
from dnspanel.zones.queries import DraftCounts
from replication.dns import rdata

MOST_LINES = 5  # of one kind
OLD_DRAFT = timedelta(days=1)
TOKEN_ENDS_SOON = timedelta(days=14)
EXPIRES_SOON = timedelta(days=7)
FAILED_IMPORTS_SINCE = timedelta(days=7)


@dataclass(frozen=True, slots=True)
class Line:
    """One thing that needs attention; `tone` is bad or warn, `act` is what its link says."""

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
    """Return the lines, the worst first; at most MOST_LINES of each kind, and seven queries."""
    lines = [
        *_of_hold(person),
        *_of_fleet(person, statuses),
        *_of_rollovers(person),
        *_of_imports(person, now),
        *_of_draft(person, counts, now),
        *_of_tokens(person, now),
        *_of_expiries(person, now),
    ]
    return sorted(lines, key=lambda line: line.tone != "bad")


def _of_hold(person: User) -> Iterator[Line]:
    hold = current_hold()
    if hold is not None:
        url = reverse("node-hold") if can(person, Permission.FLEET) else reverse("changes")
        yield Line("bad", "error", f"Publishing is held: {hold.reason}", hold.since, url, "Look at it")


def _of_fleet(person: User, statuses: Sequence[NodeStatus]) -> Iterator[Line]:
    """Open alerts, and nodes that are not well though no alert says so yet."""
    if not can(person, Permission.FLEET):
        return
    alerts = open_alerts()
    for alert in alerts[:MOST_LINES]:
        tone = "bad" if alert.severity == Severity.CRITICAL else "warn"
        yield Line(tone, "bell", alert.sentence, alert.since, _url_of(alert), "Look at it")
    if (more := len(alerts) - MOST_LINES) > 0:
        yield Line("warn", "bell", f"{more:,} more open alerts", None, reverse("alert-list"), "All alerts")
    told = {alert.node_id for alert in alerts}
    ill = [s for s in statuses if s.node.state == NodeState.ACTIVE and s.health.word not in WELL]
    for status in [each for each in ill if each.node.pk not in told][:MOST_LINES]:
        tone = "bad" if status.health.word in FAULTS else "warn"
        text = f"{status.node.name} is {status.health.word}: {status.health.message}"
        url = reverse("node-detail", args=[status.node.name])
        yield Line(tone, "nodes", text, status.node.contact_at, url, "Look at it")


def _url_of(alert: Alert) -> str:
    return reverse("node-detail", args=[alert.node.name]) if alert.node else reverse("alert-list")


def _of_rollovers(person: User) -> Iterator[Line]:
    for rollover in stuck(person, limit=MOST_LINES):
        text = f"A rollover of {rollover.zone.name} stands still: {rollover.waits_for}"
        url = reverse("zone-dnssec", args=[rollover.zone.name])
        yield Line("warn", "key", text, rollover.waits_since, url, "Look at it")


def _of_imports(person: User, now: datetime) -> Iterator[Line]:
    """One's own imports that failed lately."""
    if not can(person, Permission.EDIT):
        return
    failed = jobs_visible_to(person).filter(
        author=person, state=State.FAILED, ended_at__gte=now - FAILED_IMPORTS_SINCE, retries=None
    )
    for job in failed.order_by("-pk")[:MOST_LINES]:
        url = reverse("import-detail", args=[job.pk])
        yield Line("bad", "import", f"Your import {job.title} failed", job.ended_at, url, "See why")


def _of_draft(person: User, counts: Sequence[DraftCounts], now: datetime) -> Iterator[Line]:
    if not counts:
        return
    draft = Draft.objects.filter(author=person, changed_at__lt=now - OLD_DRAFT).first()
    if draft is not None:
        changes = sum(count.total for count in counts)
        what = f"{changes:,} change{'' if changes == 1 else 's'}"
        where = f"{len(counts):,} zone{'' if len(counts) == 1 else 's'}"
        text = f"Your draft waits: {what} in {where}"
        yield Line("warn", "edit", text, draft.changed_at, reverse("changes"), "Review")


def _of_tokens(person: User, now: datetime) -> Iterator[Line]:
    """Tokens that end soon and that nothing takes over from: one's own, and everybody's to who looks after people."""
    actor = actor_of(person)
    if actor is None:
        return
    ending = tokens_visible_to(actor).filter(
        pk__in=alive_tokens(now).values("pk"), expires_at__lt=now + TOKEN_ENDS_SOON, rotated_to=None
    )
    for token in ending.select_related("owner").order_by("expires_at")[:MOST_LINES]:
        whose = "Your token" if token.owner_id == person.pk else f"{token.owner.username}'s token"
        url = reverse("token-detail", args=[token.pk])
        yield Line("warn", "key", f"{whose} {token.purpose} ends", None, url, "Rotate", ends=token.expires_at)


def _of_expiries(person: User, now: datetime) -> Iterator[Line]:
    """Records that are removed by themselves within a week, and those that should have been and stay."""
    for expiry in expiring(person, until=now + EXPIRES_SOON, limit=MOST_LINES):
        what = f"{expiry.name} {rdata.type_to_text(expiry.type)}"
        url = row_address(expiry.zone.name, expiry.name, expiry.type)
        if expiry.refusal:
            yield Line(
                "bad", "clock", f"{what} expired, but stays: {expiry.refusal}", expiry.remove_at, url, "Look at it"
            )
        else:
            yield Line("warn", "clock", f"{what} is removed", None, url, "Look at it", ends=expiry.remove_at)
