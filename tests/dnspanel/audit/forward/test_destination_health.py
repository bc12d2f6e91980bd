"""Tests of the progress of destinations in alerts and metrics."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from dnspanel.accounts.models import AuditEntry, User
from dnspanel.alerts.alert_inputs import read
from dnspanel.alerts.alert_rules import conditions
from dnspanel.audit.forward.conditions import EvidenceInputs
from dnspanel.audit.forward.destination_health import DestinationHealth, destinations_health
from dnspanel.audit.forward.destinations import switch_destination
from dnspanel.audit.forward.models import Destination
from dnspanel.conditions import Reading
from dnspanel.monitoring.metrics import exposition
from dnspanel.webhooks.place_publish_hooks import HookTerms, add_hook
from dnspanel.zones.governance.publish_rules import Scope
from dnspanel.zones.models import AuditLink, PublishHook
from tests.dnspanel.audit.forward.conftest import MakeDestination, linked
from tests.people import NOW

pytestmark = pytest.mark.django_db


def test_what_each_lacks_is_counted_and_dated_by_few_queries(alice: User, make_destination: MakeDestination) -> None:
    with CaptureQueriesContext(connection) as queries:
        assert destinations_health() == ()
    assert len(queries) == 1
    for name in ("a", "b", "off"):
        make_destination("https://127.0.0.1/v1/logs", name=name)
    linked(alice, "team.create")
    last = AuditLink.objects.count()
    AuditEntry.objects.filter(action="team.create").update(at=NOW - timedelta(hours=3))
    Destination.objects.filter(name="a").update(sent_to=last - 1, sent_at=NOW)
    Destination.objects.filter(name="b").update(sent_to=last, failing_since=NOW, rejected_at=NOW)
    Destination.objects.filter(name="off").update(active=False)
    with CaptureQueriesContext(connection) as queries:
        a, b = destinations_health()
    assert len(queries) == 4
    assert (a.name, a.behind, a.oldest_at, a.sent_at) == ("a", 1, NOW - timedelta(hours=3), NOW)
    assert b == DestinationHealth(b.pk, "b", 0, None, None, NOW, NOW, NOW)


def test_who_was_just_switched_on_could_not_have_what_it_lacks(alice: User, make_destination: MakeDestination) -> None:
    made = make_destination("https://127.0.0.1/v1/logs")
    later = NOW + timedelta(days=3)
    for number, active in enumerate((False, True)):
        switch_destination(destination=made, active=active, by=alice, now=later + timedelta(hours=number))
        made.refresh_from_db()
    linked(alice, "team.create")
    (found,) = destinations_health()
    assert (found.oldest_at, found.begun_at) == (NOW, later + timedelta(hours=1))
    for minutes, kinds in ((1, set()), (10, {"panel.evidence_behind"})):
        now = later + timedelta(hours=1, minutes=minutes)
        assert {each.kind for each in conditions(Reading(EvidenceInputs((found,))), now)} == kinds


def test_an_act_that_is_gone_from_the_tables_is_counted_and_has_no_time(
    alice: User, make_destination: MakeDestination
) -> None:
    make_destination("https://127.0.0.1/v1/logs")
    linked(alice, "team.create")
    AuditEntry.objects.all().delete()
    (found,) = destinations_health()
    assert (found.behind > 0, found.oldest_at) == (True, None)


def test_alerts_and_metrics_tell_of_destinations_and_of_hooks_that_are_down(
    alice: User, make_destination: MakeDestination
) -> None:
    make_destination("https://127.0.0.1/v1/logs")
    linked(alice, "team.create")
    Destination.objects.update(failing_since=NOW - timedelta(hours=2), sent_at=NOW - timedelta(hours=2))
    add_hook(scope=Scope(), terms=HookTerms("https://9.9.9.9/"), reason="Names", author=alice, now=NOW)
    for failures, told in ((1, {"panel.evidence"}), (2, {"panel.evidence", "panel.hook"})):
        PublishHook.objects.update(failing_since=NOW, failures=failures)
        assert {each.kind for each in conditions(read(NOW), NOW)} >= told
        assert ("panel.hook" in {each.kind for each in conditions(read(NOW), NOW)}) is (failures == 2)
    text = exposition(NOW).decode()
    behind = AuditLink.objects.count()
    assert f'dnspanel_evidence_backlog{{destination="SIEM"}} {behind}.0' in text
    assert 'dnspanel_evidence_failing{destination="SIEM"} 1.0' in text
    assert 'dnspanel_evidence_success_timestamp_seconds{destination="SIEM"}' in text
