"""Prepare alerts for display, with links to their objects and the actions that the user is allowed to take."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from urllib.parse import urlencode

from django.urls import reverse

from dnspanel.accounts.actors.actors import Permission, can
from dnspanel.accounts.models import User
from dnspanel.alerts.alert_lines import AlertLine
from dnspanel.alerts.models import Alert
from dnspanel.conditions import Severity
from dnspanel.texts import gettext_lazy

MOST_LINKS = 3
MOST_MEMBERS = 50

TONES = {Severity.CRITICAL.value: "bad", Severity.WARNING.value: "warn", Severity.INFO.value: "info"}
_ICONS = {"bad": "error", "warn": "alert", "info": "info"}

# The page of an object in `Alert.about`, its link text, and the permission to open it.
_PAGES = {
    "destination": ("settings-evidence-detail", gettext_lazy("Destination"), Permission.NODES),
    "hook": ("settings-hook", gettext_lazy("Publish hook"), Permission.NODES),
    "publication": ("publication", gettext_lazy("Publication {id}"), Permission.FLEET),
    "request": ("draft-request", gettext_lazy("Request"), Permission.FLEET),
    "secondary": ("secondary-detail", gettext_lazy("Secondary"), Permission.FLEET),
    "zone": ("zone-detail", "{id}", Permission.FLEET),
}
_DELIVERY = ("node-delivery", gettext_lazy("Delivery"))
_PROCESSES = ("node-processes", gettext_lazy("Processes"))
# The page of alerts about the panel, by the kind without `panel.`.
_OF_PANEL = {
    **dict.fromkeys(("late", "log_age", "stall", "stopped", "pinned"), _DELIVERY),
    **dict.fromkeys(("collector", "failing", "overdue", "postgresql", "process", "redis", "stuck"), _PROCESSES),
    "held": ("node-hold", gettext_lazy("Review hold")),
}
# The actions that can fix an alert: permission, button text, URL name, and additional URL arguments.
_FIXES: Mapping[str, tuple[Permission, str, str, tuple[str, ...]]] = {
    "panel.failed": (Permission.EDIT, gettext_lazy("Create draft again"), "publication-again", ()),
    "node.certificate": (Permission.NODES, gettext_lazy("Replace certificate"), "node-act", ("rotate",)),
    "node.digest": (Permission.NODES, gettext_lazy("Resync from scratch"), "node-act", ("resync",)),
    "node.diverged": (Permission.NODES, gettext_lazy("Resync from scratch"), "node-act", ("resync",)),
    "secondary.late": (Permission.NODES, gettext_lazy("Send NOTIFY"), "secondary-notify", ()),
}


@dataclass(frozen=True, slots=True)
class Link:
    """A link to an object's page, or the button for an action."""

    text: str
    url: str


@dataclass(frozen=True, slots=True)
class AlertRow:
    """A row of the alert list, as one user sees it: a line of equal alerts, or one alert of an expanded line.

    `is_member` is True for one alert of an expanded line, and `can_open` if opening the row shows more alerts or links.
    """

    line: AlertLine
    links: Sequence[Link]
    fix: Link | None = None
    is_read: bool = False
    is_member: bool = False
    is_opened: bool = False
    can_open: bool = False
    next_url: str = ""  # of the next members, on the last row of a page of them

    @property
    def tone(self) -> str:
        return TONES[self.line.alert.severity]

    @property
    def icon(self) -> str:
        return _ICONS[self.tone]

    @property
    def css(self) -> str:
        marks = {"is-member": self.is_member, "is-read": self.is_read or self.line.is_muted}
        return " ".join(name for name, is_set in marks.items() if is_set)

    @property
    def key(self) -> str:
        """A name for the row's HTML elements, which is the same when the row is loaded again."""
        return str(self.line.alert.pk) if self.is_member else self.line.key


def alert_rows(lines: Iterable[AlertLine], person: User, *, opened: str, after: int = 0) -> Iterator[AlertRow]:
    """Yield a row for each line. If the line `opened` has several alerts, also yield a row for each of them.

    These rows come after the line, a page at a time, for alerts with ids above `after`.
    """
    for line in lines:
        is_one, is_opened = len(line.alerts) == 1, line.key == opened
        links = [link for alert in line.alerts[: MOST_LINKS + 1] for link in links_of(alert, person)]
        count = len(links) if is_one and is_opened else MOST_LINKS
        yield AlertRow(
            line,
            links[:count],
            fix=_fix_of(line.alert, person) if is_one else None,
            is_read=line.is_read_by(person.pk),
            is_opened=is_opened,
            can_open=not is_one or len(links) > MOST_LINKS,
        )
        if is_opened and not is_one:
            yield from _members(line, person, after)


def links_of(alert: Alert, person: User) -> list[Link]:
    """Return links to the alert's objects that the person can open, or to the page about the affected part."""
    if alert.node is not None:
        return [Link(alert.node.name, reverse("node-detail", args=[alert.node.slug]))]
    links = []
    for what, _, each in (about.partition(":") for about in alert.about):
        name, text, permission = _PAGES[what]
        if can(person, permission):
            links.append(Link(text.format(id=each), reverse(name, args=[each])))
    page = _OF_PANEL.get(alert.kind.removeprefix("panel."))
    return links if alert.about or page is None else [Link(page[1], reverse(page[0]))]


def _fix_of(alert: Alert, person: User) -> Link | None:
    """Return the action that can fix an open alert, or None if none exists or the person isn't allowed to do it."""
    permission, text, name, more = _FIXES.get(alert.kind, (Permission.NODES, "", "", ()))
    if not name or alert.over_at or not can(person, permission):
        return None
    # Each action applies to one object, and each of these alerts names exactly one.
    what = alert.node.slug if alert.node else alert.about[0].partition(":")[2] if alert.about else ""
    if not what:
        return None
    return Link(text, reverse(name, args=[what, *more]))


def _members(line: AlertLine, person: User, after: int) -> Iterator[AlertRow]:
    later = [alert for alert in line.alerts if alert.pk > after]
    for alert in islice(later, MOST_MEMBERS):
        is_last_of_page = len(later) > MOST_MEMBERS and alert is later[MOST_MEMBERS - 1]
        query = urlencode({"open": line.key, "after": alert.pk})
        yield AlertRow(
            AlertLine((alert,), line.is_muted),
            links_of(alert, person),
            fix=_fix_of(alert, person),
            is_read=person.pk in alert.read_by,
            is_member=True,
            next_url=f"?{query}" if is_last_of_page else "",
        )
