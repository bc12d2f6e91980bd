"""Rollovers begin automatically by policy, and through runs. Tests `dnssec.rollover_queries` too."""

from datetime import timedelta

import pytest

from dnspanel.accounts.models import User
from dnspanel.alerts.alert_inputs import read
from dnspanel.zones.acting import Acting
from dnspanel.zones.conditions import LogInputs
from dnspanel.zones.dnssec import rollover_queries
from dnspanel.zones.dnssec.policy import Terms
from dnspanel.zones.dnssec.rollover_stages import Kind
from dnspanel.zones.models import Rollover, Signing, Zone
from dnspanel.zones.signing import automatic, policies, sign
from tests.dnspanel.web.conftest import Browser, browser
from tests.dnspanel.zones.conftest import MakeZone
from tests.people import NOW

__all__ = ["browser"]
pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def signed(make_zone: MakeZone, alice: User) -> list[Zone]:
    zones = [make_zone(name=f"z{number}.test.") for number in range(3)]
    sign.sign(zones=zones, acting=Acting(alice, "web", NOW), split=True)
    return zones


def under_way() -> list[tuple[str, str]]:
    return list(Rollover.objects.filter(ended_at=None).order_by("pk").values_list("zone__name", "kind"))


def test_keys_that_are_too_old_are_replaced_if_the_policy_is_automatic(signed: list[Zone], alice: User) -> None:
    later = NOW + timedelta(days=31)
    terms = Terms(split=True, zsk_days=30, ksk_days=30)
    policy = policies.create_policy(name="Monthly", terms=terms, is_default=True, by=alice, now=NOW)
    assert automatic.begin_due_rollovers(now=later) == 0
    policies.change_policy(
        policy=policy,
        name="Monthly",
        terms=Terms(split=True, zsk_days=30, ksk_days=30, automatic=True),
        is_default=True,
        by=alice,
        now=NOW,
    )
    assert automatic.begin_due_rollovers(now=NOW + timedelta(days=29)) == 0
    assert automatic.begin_due_rollovers(now=later, most=2) == 2
    assert automatic.begin_due_rollovers(now=later) == 1
    assert automatic.begin_due_rollovers(now=later) == 0
    assert under_way() == [(zone.name, "zsk") for zone in signed]
    assert Rollover.objects.filter(started_by=None).count() == 3
    rows, more = rollover_queries.under_way(alice, limit=2)
    assert ([row.zone.name for row in rows], more) == (["z0.test.", "z1.test."], True)


def test_a_run_of_policies_begins_what_it_needs(signed: list[Zone], alice: User) -> None:
    automatic.begin_rollover(signed[0], Kind.ALGORITHM, Acting(alice, "web", NOW), 15)
    assert under_way() == [("z0.test.", "algorithm")]
    newest = rollover_queries.newest(signed[0])
    assert newest is not None
    assert len(newest.new_keys) == 2


def test_a_due_rollover_that_is_refused_is_shown_until_it_begins(
    signed: list[Zone], alice: User, browser: Browser
) -> None:
    """Previously the refusal was visible only in a log, once per hour."""
    terms = Terms(split=True, zsk_days=30, ksk_days=30, automatic=True)
    policies.create_policy(name="Monthly", terms=terms, is_default=True, by=alice, now=NOW)
    zone, later = signed[0], NOW + timedelta(days=400)
    extra = sign.add_key(zone=zone, acting=Acting(alice, "web", NOW), flags=256, active=True, algorithm=15)
    assert automatic.begin_due_rollovers(now=later) == 2
    row = Signing.objects.get(pk=zone.pk)
    assert (row.due_refused_at, "several algorithms" in row.due_refusal) == (later, True)
    assert automatic.begin_due_rollovers(now=later + timedelta(hours=1)) == 0
    assert Signing.objects.get(pk=zone.pk).due_refused_at == later
    assert [name for name, _ in read(later).of(LogInputs).rollovers.first] == [zone.name]
    page = browser(alice).get(f"/zones/{zone.name}/dnssec/").content.decode()
    assert "can’t start automatically. The zone is signed with several algorithms" in page
    sign.delete_key(zone=zone, key_id=extra.pk, acting=Acting(alice, "web", later))
    assert automatic.begin_due_rollovers(now=later) == 1
    assert Signing.objects.get(pk=zone.pk).due_refusal == ""
    assert read(later).of(LogInputs).rollovers.count == 0
