"""Tests of the lists of secondaries and of their zones."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from dnspanel.accounts.models import User
from dnspanel.secondaries.models import Member
from dnspanel.secondaries.queries import members_page, secondary_rows
from tests.dnspanel.secondaries.conftest import MakeSecondary
from tests.dnspanel.zones.conftest import MakeZone
from tests.people import NOW

pytestmark = pytest.mark.django_db


def test_each_says_how_many_of_its_zones_are_behind_by_two_queries(
    make_zone: MakeZone, charlie: User, make_secondary: MakeSecondary
) -> None:
    for name in ("a.test.", "b.test."):
        make_zone(name=name)
    for name in ("all", "late", "none", "off"):
        make_secondary(name, active=name != "off", lag_bound=60)
    Member.objects.exclude(secondary__name__in=["all", "late"]).update(behind_since=None)
    Member.objects.filter(zone_name="b.test.").update(behind_since=None)
    Member.objects.filter(secondary__name="all").update(behind_since=NOW + timedelta(seconds=30))
    secondary_rows(charlie)  # loads Charlie's rights with queries of their own
    with CaptureQueriesContext(connection) as queries:
        rows = secondary_rows(charlie)
    assert len(queries) == 2
    now = NOW + timedelta(seconds=61)
    found = [(row.secondary.name, row.zones, row.behind, row.word(now)) for row in rows]
    Member.objects.filter(secondary__name="all", zone_name="a.test.").update(behind_since=NOW + timedelta(seconds=30))
    assert found == [
        ("all", 2, 2, "behind"),
        ("late", 2, 1, "late"),
        ("none", 2, 0, "in sync"),
        ("off", 2, 0, "off"),
    ]


def test_its_zones_page_by_name(make_zone: MakeZone, alice: User, make_secondary: MakeSecondary) -> None:
    for name in ("a.test.", "b.test.", "c.test.", "cc.test."):
        make_zone(name=name)
    secondary = make_secondary()
    Member.objects.exclude(zone_name="b.test.").update(behind_since=None)

    def names_of(**filters: object) -> list[str]:
        return [member.zone_name for member in members_page(alice, secondary, **filters)]  # type: ignore[arg-type]

    assert names_of(limit=2) == ["a.test.", "b.test."]
    assert names_of(after="b.test.") == ["c.test.", "cc.test."]
    assert names_of(search="c") == ["c.test.", "cc.test."]
    assert names_of(behind=True) == ["b.test."]
