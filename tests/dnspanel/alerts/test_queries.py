"""Tests of the queries for alert pages."""

from datetime import timedelta
from typing import Any

import pytest

from dnspanel.alerts.deliver_alerts import Outcome, record_outcome
from dnspanel.alerts.errors import RouteUnknown
from dnspanel.alerts.models import Message
from dnspanel.alerts.queries import (
    AlertSummary,
    alert_summary,
    messages_of,
    open_alerts,
    past_alerts,
    route_by_id,
    route_rows,
)
from dnspanel.alerts.watch import keep
from dnspanel.conditions import Condition, Severity
from tests.dnspanel.alerts.conftest import MakeRoute
from tests.people import NOW

pytestmark = pytest.mark.django_db


def late(number: int, severity: Severity = Severity.WARNING) -> Condition:
    return Condition(f"k{number}", "node.late", severity, f"ns{number} is late")


def test_the_bell_counts_what_is_open_in_one_query(django_assert_num_queries: Any) -> None:
    assert alert_summary().message == "No open alerts"
    keep([late(1)], now=NOW)
    assert alert_summary().message == "1 open alert"
    keep([late(1), late(2, Severity.CRITICAL), late(3)], now=NOW)
    with django_assert_num_queries(1):
        assert alert_summary() == AlertSummary(3, 1)
    assert alert_summary().message == "3 open alerts, 1 critical"
    keep([], now=NOW + timedelta(minutes=5))
    assert alert_summary() == AlertSummary(0, 0)


def test_the_critical_come_first_and_what_is_over_stands_in_the_history() -> None:
    keep([late(1)], now=NOW)
    keep([late(1), late(2, Severity.CRITICAL), late(3)], now=NOW + timedelta(seconds=5))
    assert [alert.key for alert in open_alerts()] == ["k2", "k1", "k3"]
    assert past_alerts(before=None, limit=9) == []
    keep([late(3)], now=NOW + timedelta(minutes=5))
    assert [alert.key for alert in open_alerts()] == ["k3"]
    first, second = past_alerts(before=None, limit=9)
    assert [first.key, second.key] == ["k2", "k1"]
    assert past_alerts(before=first.pk, limit=9) == [second]


def test_a_route_says_what_waits_for_it_and_whether_it_fails(route: MakeRoute, django_assert_num_queries: Any) -> None:
    made = route("b").route
    route("a")
    keep([late(1)], now=NOW)
    with django_assert_num_queries(2):
        a, b = route_rows()
    assert (a.route.name, a.waiting, a.last, b.is_failing) == ("a", 1, None, False)
    group = list(Message.objects.filter(route=made))
    record_outcome(route=made, group=group, outcome=Outcome(error="Nobody there."), now=NOW)
    row = route_rows()[1]
    assert (row.waiting, row.is_failing) == (1, True)
    record_outcome(route=made, group=group, outcome=Outcome(status=200), now=NOW)
    row = route_rows()[1]
    assert (row.waiting, row.is_failing) == (0, False)
    assert [message.sent_at for message in messages_of(made, limit=5)] == [NOW]


def test_a_route_that_is_not_there(route: MakeRoute) -> None:
    made = route("a").route
    assert route_by_id(made.pk) == made
    with pytest.raises(RouteUnknown):
        route_by_id(made.pk + 1)
