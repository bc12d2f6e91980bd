"""Queries for views: open alerts, past alerts, routes, and the messages of a route."""

from dataclasses import dataclass

from django.db.models import Count, Q

from dnspanel.alerts.errors import RouteUnknown
from dnspanel.alerts.models import Alert, Message, Route
from dnspanel.conditions import Severity
from dnspanel.texts import gettext


@dataclass(frozen=True, slots=True)
class AlertSummary:
    """The number of all open alerts and the number of critical ones."""

    open: int
    critical: int

    @property
    def message(self) -> str:
        if not self.open:
            return gettext("No open alerts")
        message = gettext("1 open alert") if self.open == 1 else gettext("{open} open alerts").format(open=self.open)
        return (
            gettext("{message}, {critical} critical").format(message=message, critical=self.critical)
            if self.critical
            else message
        )


@dataclass(frozen=True, slots=True)
class RouteRow:
    """A route, its number of waiting messages, and its last attempted message, or None before the first attempt."""

    route: Route
    waiting: int
    last: Message | None

    @property
    def is_failing(self) -> bool:
        return self.last is not None and self.last.sent_at is None


def alert_summary() -> AlertSummary:
    """Count the open and the critical alerts. It is one small query, because every page shows them."""
    found = Alert.objects.filter(over_at=None).aggregate(
        open=Count("pk"), critical=Count("pk", filter=Q(severity=Severity.CRITICAL))
    )
    return AlertSummary(found["open"], found["critical"])


def open_alerts() -> list[Alert]:
    """Return the open alerts, critical alerts first, then by age with the oldest first."""
    found = Alert.objects.filter(over_at=None).select_related("node").order_by("since", "pk")
    return sorted(found, key=lambda alert: alert.severity != Severity.CRITICAL)


def past_alerts(*, before: int | None, limit: int) -> list[Alert]:
    """Return ended alerts, newest first. `before` is the last id on the previous page."""
    found = Alert.objects.exclude(over_at=None).select_related("node").order_by("-pk")
    return list((found if before is None else found.filter(pk__lt=before))[:limit])


def route_rows() -> list[RouteRow]:
    """Return all routes, sorted by name, with two queries."""
    waiting = Q(messages__sent_at=None, messages__failed_at=None, messages__pk__isnull=False)
    routes = list(Route.objects.annotate(waiting=Count("messages", filter=waiting)).order_by("name"))
    tried = Message.objects.filter(attempts__gt=0).order_by("route", "-pk").distinct("route")
    last = {message.route_id: message for message in tried}
    return [RouteRow(route, route.waiting, last.get(route.pk)) for route in routes]


def route_by_id(route_id: int) -> Route:
    """Return the route with this id. Raise RouteUnknown if it doesn't exist."""
    route = Route.objects.filter(pk=route_id).first()
    if route is None:
        raise RouteUnknown
    return route


def messages_of(route: Route, *, limit: int) -> list[Message]:
    """Return the sent and waiting messages of this route, newest first."""
    return list(route.messages.select_related("alert").order_by("-pk")[:limit])
