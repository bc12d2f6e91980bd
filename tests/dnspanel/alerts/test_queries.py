"""Tests of the queries for alert pages."""

from datetime import timedelta
from typing import Any

import pytest

from dnspanel.accounts.models import User
from dnspanel.alerts.alert_marks import mark_read
from dnspanel.alerts.deliver_alerts import Outcome, record_outcome
from dnspanel.alerts.errors import RouteUnknown
from dnspanel.alerts.models import Alert, Message
from dnspanel.alerts.queries import (
    AlertSummary,
    alert_summary,
    messages_of,
    open_lines,
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


def test_the_bell_counts_what_a_person_has_not_read_in_one_query(alice: User, django_assert_num_queries: Any) -> None:
    assert alert_summary(alice, now=NOW).message == "No unread alerts"
    keep([late(1)], now=NOW)
    assert alert_summary(alice, now=NOW).message == "1 unread alert"
    keep([late(1), late(2, Severity.CRITICAL), late(3), late(4, Severity.INFO)], now=NOW)
    with django_assert_num_queries(1):
        assert alert_summary(alice, now=NOW) == AlertSummary(4, 1, 2)
    assert alert_summary(alice, now=NOW).message == "4 unread alerts, 1 critical"
    for severity, tone in ((Severity.CRITICAL, "is-warn"), (Severity.WARNING, "")):
        mark_read(alerts=Alert.objects.filter(severity=severity), by=alice)
        assert alert_summary(alice, now=NOW).tone == tone
    keep([], now=NOW + timedelta(minutes=5))
    assert alert_summary(alice, now=NOW) == AlertSummary(0, 0, 0)


def test_the_critical_come_first_and_what_is_over_stands_in_the_history(django_assert_num_queries: Any) -> None:
    keep([late(1, Severity.INFO)], now=NOW)
    keep([late(1, Severity.INFO), late(2), late(3, Severity.CRITICAL), late(4)], now=NOW + timedelta(seconds=5))
    with django_assert_num_queries(1):
        lines = open_lines(now=NOW)
    assert [line.text for line in lines] == ["ns3 is late", "Node is late (×2)", "ns1 is late"]
    assert [line.needs_attention_of(1) for line in lines] == [True, True, False]
    assert past_alerts(before=None, limit=9) == []
    keep([late(3)], now=NOW + timedelta(minutes=5))
    assert [line.alert.key for line in open_lines(now=NOW)] == ["k3"]
    first, second, _ = past_alerts(before=None, limit=9)
    assert [first.key, second.key] == ["k4", "k2"]
    assert past_alerts(before=first.pk, limit=1) == [second]


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
