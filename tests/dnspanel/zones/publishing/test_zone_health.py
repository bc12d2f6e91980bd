"""Problems of a zone as a draft leaves it, the worst first. The pages' tests press the buttons."""

import pytest

from dnspanel.accounts.models import User
from dnspanel.zones.complaints import complaints_upkeep
from dnspanel.zones.drafts import draft
from dnspanel.zones.errors import RightMissing
from dnspanel.zones.publishing import zone_health
from dnspanel.zones.publishing.zone_health import draft_fix, health_of
from tests.dnspanel.zones.conftest import ZONE, MakeZone, rr
from tests.people import NOW


def test_the_worst_problems_come_first_and_explanations_are_left_out(make_zone: MakeZone, bob: User) -> None:
    zone = make_zone("*.a 300 A 192.0.2.1", "b 10 A 192.0.2.1")
    found = health_of(zone=zone, author=bob, ttl=300, now=NOW).findings
    assert found[0].violation.code == "ttl-low"
    assert {each.violation.severity for each in found[1:]} == {"note"}
    draft.replace_rrset(author=bob, zone=zone, rrset=rr("bad 300 CNAME bad"), now=NOW)
    [first, *_] = health_of(zone=zone, author=bob, ttl=300, now=NOW).findings
    assert (first.violation.code, first.violation.severity) == ("cname-loop", "error")


def test_equal_problems_have_one_order(make_zone: MakeZone, bob: User) -> None:
    zone = make_zone("c 10 A 192.0.2.1", "a 10 A 192.0.2.1", "b 10 A 192.0.2.1", "b 10 TXT x")
    draft.replace_rrset(author=bob, zone=zone, rrset=rr("@ 3600 NS ns1.example.net."), now=NOW)
    warnings = [
        each.key
        for each in health_of(zone=zone, author=bob, ttl=300, now=NOW).findings
        if each.violation.severity == "warning"
    ]
    assert warnings == sorted(warnings)
    assert len(warnings) > 4


@pytest.mark.django_db(transaction=True)
def test_stored_complaints_of_a_large_zone_are_checked_again(
    make_zone: MakeZone, bob: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    zone = make_zone("a 300 A 192.0.2.1", "b 300 A 192.0.2.1", "z 10 A 192.0.2.1")
    complaints_upkeep.catch_up(now=NOW)
    monkeypatch.setattr(zone_health, "MOST_CHECKED", 2)
    health = health_of(zone=zone, author=bob, ttl=300, now=NOW)
    assert [each.key for each in health.findings if each.violation.code == "ttl-low"] == [f"ttl-low z.{ZONE} 1"]
    assert not health.is_complete


def test_a_fix_needs_the_right_to_change_the_record(make_zone: MakeZone, bob: User, charlie: User) -> None:
    zone = make_zone("b 10 A 192.0.2.1")
    [finding, *_] = health_of(zone=zone, author=charlie, ttl=300, now=NOW).findings
    with pytest.raises(RightMissing):
        draft_fix(zone=zone, author=charlie, finding=finding, now=NOW)
    assert draft_fix(zone=zone, author=bob, finding=finding, now=NOW) == 1
