"""Reads for the faces: open alerts, past ones, their routes, and what was answered to their messages."""

from dataclasses import dataclass

from django.db.models import Count, Q

from dnspanel.alerts.errors import RouteUnknown
from dnspanel.alerts.models import Alert, Message, Route
from dnspanel.conditions import Severity
from dnspanel.texts import gettext


@dataclass(frozen=True, slots=True)
class AlertSummary:
    """How many alerts are open, and how many of them are critical."""

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
    """A route, what waits for it, and the last message that was tried; None before the first."""

    route: Route
    waiting: int
    last: Message | None

    @property
    def is_failing(self) -> bool:
        return self.last is not None and self.last.sent_at is None


def alert_summary() -> AlertSummary:
    """Count the open and the critical alerts; one small query, for every page."""
    found = Alert.objects.filter(over_at=None).aggregate(
        open=Count("pk"), critical=Count("pk", filter=Q(severity=Severity.CRITICAL))
    )
    return AlertSummary(found["open"], found["critical"])


def open_alerts() -> list[Alert]:
    """Return the open alerts, the critical first, then the oldest."""
    found = Alert.objects.filter(over_at=None).select_related("node").order_by("since", "pk")
    return sorted(found, key=lambda alert: alert.severity != Severity.CRITICAL)


def past_alerts(*, before: int | None, limit: int) -> list[Alert]:
    """Return ended alerts, the newest first. `before` is the id of the last one on the page before."""
    found = Alert.objects.exclude(over_at=None).select_related("node").order_by("-pk")
    return list((found if before is None else found.filter(pk__lt=before))[:limit])


def route_rows() -> list[RouteRow]:
    """Return every route by name, in two queries."""
    waiting = Q(messages__sent_at=None, messages__failed_at=None, messages__pk__isnull=False)
    routes = list(Route.objects.annotate(waiting=Count("messages", filter=waiting)).order_by("name"))
    tried = Message.objects.filter(attempts__gt=0).order_by("route", "-pk").distinct("route")
    last = {message.route_id: message for message in tried}
    return [RouteRow(route, route.waiting, last.get(route.pk)) for route in routes]


def route_by_id(route_id: int) -> Route:
    """Return the route with this id. Raise RouteUnknown."""
    route = Route.objects.filter(pk=route_id).first()
    if route is None:
        raise RouteUnknown
    return route


def messages_of(route: Route, *, limit: int) -> list[Message]:
    """Return the messages of this route, sent and waiting, the newest first."""
    return list(route.messages.select_related("alert").order_by("-pk")[:limit])
