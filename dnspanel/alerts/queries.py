"""Query open and past alerts, routes, and a route's messages, for views."""

from dataclasses import dataclass
from datetime import datetime

from django.contrib.auth.models import AnonymousUser
from django.db.models import Count, Q, QuerySet

from dnspanel.accounts.models import User
from dnspanel.alerts.alert_lines import AlertLine, merged_lines
from dnspanel.alerts.errors import RouteUnknown
from dnspanel.alerts.models import Alert, Message, Route
from dnspanel.conditions import Severity
from dnspanel.database.first_rows import first_or
from dnspanel.texts import gettext, ngettext


@dataclass(frozen=True, slots=True)
class AlertSummary:
    """The numbers of a user's unread alerts: all, critical, and warnings."""

    open: int
    critical: int
    warnings: int

    @property
    def tone(self) -> str:
        """The CSS class for the most urgent alert."""
        return "is-bad" if self.critical else "is-warn" if self.warnings else ""

    @property
    def message(self) -> str:
        if not self.open:
            return gettext("No unread alerts")
        message = ngettext("{count} unread alert", "{count} unread alerts", self.open).format(count=self.open)
        return (
            gettext("{message}, {critical} critical").format(message=message, critical=self.critical)
            if self.critical
            else message
        )


@dataclass(frozen=True, slots=True)
class RouteRow:
    """A route, its number of waiting messages, and its last attempted message (None before the first attempt)."""

    route: Route
    waiting: int
    last: Message | None

    @property
    def is_failing(self) -> bool:
        return self.last is not None and self.last.sent_at is None


def alert_summary(person: AnonymousUser | User, *, now: datetime) -> AlertSummary:
    """Count the open alerts that are neither muted nor read by the user. One query, because each page shows them."""
    unread = Alert.objects.filter(Q(muted_until=None) | Q(muted_until__lte=now), over_at=None)
    found = unread.exclude(read_by__contains=[person.pk]).aggregate(
        open=Count("pk"),
        critical=Count("pk", filter=Q(severity=Severity.CRITICAL)),
        warnings=Count("pk", filter=Q(severity=Severity.WARNING)),
    )
    return AlertSummary(**found)


def open_lines(*, now: datetime) -> list[AlertLine]:
    """Return the open alerts, merged into lines, most urgent first. Muted lines come last."""
    return merged_lines(Alert.objects.filter(over_at=None).select_related("node"), now)


def equal_alerts(*, kind: str, severity: str, first: int, last: int) -> "QuerySet[Alert]":
    """Return the open alerts of this kind and severity with ids from `first` to `last`."""
    return Alert.objects.filter(over_at=None, kind=kind, severity=severity, pk__range=(first, last))


def past_alerts(*, before: int | None, limit: int) -> list[Alert]:
    """Return ended alerts, newest first. `before` is the last id on the previous page."""
    found = Alert.objects.exclude(over_at=None).select_related("node").order_by("-pk")
    return list((found if before is None else found.filter(pk__lt=before))[:limit])


def route_rows() -> list[RouteRow]:
    """Return all routes, sorted by name. Uses two queries."""
    waiting = Q(messages__sent_at=None, messages__failed_at=None, messages__pk__isnull=False)
    routes = list(Route.objects.annotate(waiting=Count("messages", filter=waiting)).order_by("name"))
    tried = Message.objects.filter(attempts__gt=0).order_by("route", "-pk").distinct("route")
    last = {message.route_id: message for message in tried}
    return [RouteRow(route, route.waiting, last.get(route.pk)) for route in routes]


def route_by_id(route_id: int) -> Route:
    """Return the route with this id. Raise RouteUnknown if it doesn't exist."""
    return first_or(Route.objects.filter(pk=route_id), RouteUnknown)


def messages_of(route: Route, *, limit: int) -> list[Message]:
    """Return the route's newest messages, sent, waiting or given up, newest first."""
    return list(route.messages.select_related("alert").order_by("-pk")[:limit])
