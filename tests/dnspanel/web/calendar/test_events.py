"""The events of the calendar: each kind, their readers, their limit, and the number of queries."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from pytest_django import DjangoAssertNumQueries

from dnspanel.accounts.actors.actors import Actor, Grant, Right, actor_of
from dnspanel.accounts.models import GrantRow, Role, Token, User
from dnspanel.accounts.tokens.token_terms import TokenTerms
from dnspanel.accounts.tokens.tokens import create_token
from dnspanel.fleet.models import Node
from dnspanel.primaries.models import TransferredZone
from dnspanel.secondaries.models import Secondary
from dnspanel.secondaries.set_up_secondaries import Terms as SecondaryTerms
from dnspanel.secondaries.set_up_secondaries import create_secondary
from dnspanel.web.calendar.events import Event, Kind, Window, events_of
from dnspanel.zones.acting import Acting
from dnspanel.zones.dnssec.policy import Terms
from dnspanel.zones.drafts import draft
from dnspanel.zones.governance import publish_rules
from dnspanel.zones.governance.publish_rules import FreezeTimes, Scope
from dnspanel.zones.models import Expiry, Rollover, Signing, Zone
from dnspanel.zones.publishing import edit
from dnspanel.zones.publishing.expiry import set_expiry
from dnspanel.zones.requests import publish_requests
from dnspanel.zones.signing import policies, rollovers, sign
from replication.codec.keys import relative_key
from replication.dns import rdtypes
from tests.dnspanel.web.conftest import MakeZone
from tests.dnspanel.zones.conftest import rr
from tests.own_certificates import own_certificate
from tests.people import NOW, make_person

WINDOW = Window(NOW, NOW + timedelta(days=90), 40)
DAY = timedelta(days=1)


def actor(user: User) -> Actor:
    found = actor_of(user)
    assert found is not None
    return found


def events(user: User, chosen: Kind | None = None, window: Window = WINDOW) -> list[Event]:
    return events_of(actor(user), window, chosen)[0]


def texts(user: User, chosen: Kind | None = None) -> list[str]:
    return [event.text for event in events(user, chosen)]


def token(owner: User, purpose: str, **terms: Any) -> Token:
    scope = (Grant(frozenset({Right.READ}), everywhere=True),)
    return create_token(owner=owner, terms=TokenTerms(purpose, scope, **terms), by=owner, now=NOW).token


def a_full_calendar(make_zone: MakeZone, alice: User, active_node: Any) -> None:
    """Create one event of each kind, in the order of `test_each_kind_has_its_events`."""
    zone = make_zone("www 300 A 192.0.2.1")
    draft.replace_rrset(author=alice, zone=zone, rrset=rr("new 300 A 192.0.2.9"), now=NOW)
    terms = publish_requests.Terms(publish_at=NOW + DAY)
    publish_requests.ask(author=alice, name="Move", now=NOW, terms=terms)
    times = FreezeTimes(NOW + 2 * DAY, NOW + 3 * DAY)
    publish_rules.add_freeze(scope=Scope(), times=times, reason="Holidays", author=alice, now=NOW)
    set_expiry(zone=zone, key=("www.example.test.", rdtypes.A), remove_at=NOW + 4 * DAY, author=alice, now=NOW)
    token(alice, "backup", expires_at=NOW + 5 * DAY)
    gone = make_zone(name="gone.test.")
    edit.delete_zone(zone=gone, acting=Acting(alice, "web", NOW))
    active_node("ns1")
    Node.objects.update(certificate_expires_at=NOW + 6 * DAY)


def test_each_kind_has_its_events(make_zone: MakeZone, alice: User, active_node: Any) -> None:
    a_full_calendar(make_zone, alice, active_node)
    found = events(alice)
    assert [(event.kind, event.text, event.path.split("?")[0], event.at - NOW) for event in found[:4]] == [
        (Kind.PUBLICATION, "Publish “Move”", found[0].path, DAY),
        (Kind.FREEZE, "every zone: Holidays", "/settings/freezes/", 2 * DAY),
        (Kind.RECORD, "www.example.test.: A is removed", "/zones/example.test./", 4 * DAY),
        (Kind.KEY, "API token “backup” expires", found[3].path, 5 * DAY),
    ]
    assert found[1].until == NOW + 3 * DAY
    [gone] = events(alice, Kind.ZONE)
    assert gone.text == "gone.test. is permanently deleted"
    assert gone.at - NOW == 30 * DAY
    assert texts(alice, Kind.CERTIFICATE) == ["ns1: certificate expires"]


def test_members_see_only_their_zones_and_their_tokens(make_zone: MakeZone, alice: User, active_node: Any) -> None:
    a_full_calendar(make_zone, alice, active_node)
    mia = make_person("mia", Role.MEMBER)
    assert texts(mia) == ["every zone: Holidays"]
    zone = Zone.objects.get(name="example.test.")
    times = FreezeTimes(NOW + 6 * DAY, NOW + 7 * DAY)
    for scope in (Scope(zone=zone), Scope(tag="shop")):
        publish_rules.add_freeze(scope=scope, times=times, reason="Sale", author=alice, now=NOW)
    token(make_person("pat", Role.READER), "of pat", expires_at=NOW + DAY)
    assert texts(mia) == ["every zone: Holidays"]
    own = Grant(frozenset({Right.READ}), zones=frozenset({zone.pk}))
    GrantRow.objects.create(user=mia, grant=own.to_json(), created_at=NOW)
    mia = User.objects.get(pk=mia.pk)  # whose rights aren't cached
    seen = ["Publish “Move”", "every zone: Holidays", "www.example.test.: A is removed", "example.test.: Sale"]
    assert texts(mia) == seen
    Zone.objects.filter(pk=zone.pk).update(tags=["shop"])
    assert sorted(texts(mia)) == sorted([*seen, "zones tagged shop: Sale"])  # both freezes begin at the same time
    assert {"API token “of pat” expires", "API token “backup” expires"} <= {*texts(alice)}


def test_dnssec_has_the_next_step_the_end_of_signatures_and_the_ages_of_keys(make_zone: MakeZone, alice: User) -> None:
    signed, other = make_zone(), make_zone(name="other.test.")
    sign.sign(zones=[signed, other], acting=Acting(alice, "web", NOW))
    terms = Terms(ksk_days=60, zsk_days=None)
    policies.create_policy(name="Yearly", terms=terms, is_default=True, by=alice, now=NOW)
    rollovers.begin(zone=other, kind="csk", acting=Acting(alice, "web", NOW))  # type: ignore[arg-type]
    Rollover.objects.update(earliest=NOW + DAY)
    Signing.objects.filter(zone=signed).update(signatures_end=NOW + 2 * DAY)
    found = [text.replace("example.test.", "x") for text in texts(alice, Kind.DNSSEC)]
    assert found[:2] == ["other.test.: next step of the key rollover", "x: imported signatures expire"]
    assert {text.partition(":")[0] for text in found[2:]} == {"x", "other.test."}
    assert all("reaches its maximum age" in text for text in found[2:])
    assert {event.at for event in events(alice, Kind.DNSSEC)[2:]} == {NOW + 60 * DAY}
    assert texts(make_person("mia", Role.MEMBER)) == []


def test_secondaries_and_failing_transfers(make_zone: MakeZone, alice: User, charlie: User) -> None:
    well, failing = make_zone(), make_zone(name="failing.test.")
    for zone, alert_at in ((well, None), (failing, NOW)):
        addresses = ["192.0.2.53"]
        TransferredZone.objects.create(zone=zone, addresses=addresses, expires_at=NOW + DAY, alert_at=alert_at)
    create_secondary(terms=SecondaryTerms(name="hidden", addresses=("198.41.0.4",)), by=alice, now=NOW)
    pem = own_certificate("hidden.test", begins=NOW, days=3).certificate
    Secondary.objects.update(old_secret_until=NOW + 2 * DAY, certificate=pem)
    assert texts(charlie) == [
        "failing.test. expires if no primary answers",
        "The old TSIG key of hidden ends",
        "hidden: certificate expires",
    ]
    assert texts(make_person("mia", Role.MEMBER)) == []


def test_a_repeated_freeze_is_an_event_each_time(alice: User) -> None:
    times = FreezeTimes(NOW, NOW + timedelta(hours=6), repeats="FREQ=WEEKLY")
    publish_rules.add_freeze(scope=Scope(), times=times, reason="Night", author=alice, now=NOW)
    assert [event.at for event in events(alice)] == [NOW + 7 * n * DAY for n in range(13)]


@pytest.mark.parametrize("size", [1, 20, 3_000])
def test_more_events_need_no_more_queries(
    make_zone: MakeZone, alice: User, size: int, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    zone, until = make_zone(), datetime(2027, 1, 1, tzinfo=UTC)
    Expiry.objects.bulk_create(
        Expiry(zone=zone, owner_key=relative_key(name, zone.name), type=1, name=name, remove_at=until, set_at=NOW)
        for name in (f"n{number}.example.test." for number in range(size))
    )
    with django_assert_max_num_queries(13):
        found, cut = events_of(actor(alice), WINDOW)
    assert len(found) == min(size, WINDOW.most)
    assert cut == ([Kind.RECORD] if size > WINDOW.most else [])


@pytest.mark.parametrize("kind", Kind)
def test_one_kind_reads_only_its_own_tables(
    alice: User, kind: Kind, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    person = actor(alice)
    with django_assert_max_num_queries(5):
        events_of(person, WINDOW, kind)
