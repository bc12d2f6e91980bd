"""Tests of the daily check of parents: due zones, results, immediate checks. Tests `fleet.ask_parent` too."""

from collections.abc import Callable, Mapping
from datetime import datetime, timedelta
from typing import Any

import psycopg
import pytest
from django.db import connection
from django.utils import timezone

from dnspanel.accounts.models import AuditEntry, User
from dnspanel.advisory_locks import Lock, take
from dnspanel.fleet import tasks
from dnspanel.fleet.ask_parent import ask_parent
from dnspanel.fleet.dnssec import dns_exchange, parent_checks
from dnspanel.fleet.dnssec.parent_checks import AGAIN, AT_ONCE, EVERY, LEASE, OURS
from dnspanel.fleet.dnssec.resolver import Resolver
from dnspanel.fleet.models import ParentCheck, ParentState
from dnspanel.zones.acting import Acting
from dnspanel.zones.dnssec import queries
from dnspanel.zones.errors import NotSigned, RightMissing
from dnspanel.zones.models import Zone
from dnspanel.zones.publishing import edit
from dnspanel.zones.signing import sign
from tests.dnspanel.fleet.dnssec.nameservers import (
    OTHER,
    PARENT,
    RESOLVER,
    ZONE,
    Answers,
    has,
    nobody,
    resolver_of,
    serving,
)
from tests.dnspanel.fleet.dnssec.test_trust_chain import SOA, ds_of
from tests.dnspanel.zones.conftest import MakeZone, presigned_zone
from tests.dnspanel.zones.conftest import make_zone as make_zone
from tests.dnspanel.zones.signing.test_safety import put_ds
from tests.oracle import powerdns
from tests.people import NOW
from tests.people import alice as alice
from tests.people import bob as bob
from tests.people import charlie as charlie
from tests.ports import free_port

pytestmark = pytest.mark.django_db(transaction=True)

A, B = "127.0.9.1", "127.0.9.2"
HOSTS: Mapping[str, tuple[str, ...]] = {"a.ns.test.": (A,), "b.ns.test.": (B,)}
Check = Callable[..., ParentCheck | None]


def acting(now: datetime = NOW) -> Acting:
    return Acting(author=None, channel="web", now=now)


@pytest.fixture(autouse=True)
def surroundings(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.SOURCE_NETWORKS, settings.TRUST_ANCHORS = ["127.0.0.0/8"], []
    monkeypatch.setattr(dns_exchange, "TRY_SECONDS", 0.2)


@pytest.fixture
def signed(make_zone: MakeZone) -> Zone:
    """Create a signed zone whose parent isn't in the panel."""
    zone = make_zone("www 300 A 192.0.2.1", name=ZONE)
    sign.sign(zones=[zone], acting=acting())
    return zone


def ds(zone: Zone) -> str:
    return queries.keys_of(zone)[0].ds[0]


@pytest.fixture
def check() -> Check:
    """Return a function that runs due checks through servers with scripted answers, and returns the stored result."""

    def check_once(now: datetime, first: Answers, second: Answers) -> ParentCheck | None:
        port = free_port()
        with serving({RESOLVER: resolver_of(HOSTS), A: first, B: second}, port):
            parent_checks.admit(now=now)
            claims = parent_checks.take_on(now=now)
            parent_checks.check_all(claims, now=now, resolver=Resolver(((RESOLVER, port),)), port=port)
        return ParentCheck.objects.first()

    return check_once


def test_a_ds_that_names_a_key_is_well_for_a_day(signed: Zone, check: Check) -> None:
    found = check(NOW, has(ds(signed)), has(ds(signed)))
    assert found is not None
    assert (found.state, found.parent, found.since, found.known_at) == (ParentState.MATCHES, PARENT, NOW, NOW)
    assert (
        found.message
        == f"The DS at the parent parent.test. matches key {queries.keys_of(signed)[0].tag} on all 2 servers."
    )
    assert found.found == {
        "servers": {f"a.ns.test. {A}": [ds(signed)], f"b.ns.test. {B}": [ds(signed)]},
        "ttl": 3600,
        "root": "",
    }
    assert found.due_at == NOW + EVERY
    assert parent_checks.take_on(now=NOW + EVERY - timedelta(seconds=1)) == []
    assert len(parent_checks.take_on(now=NOW + EVERY)) == 1


def test_what_is_wrong_is_looked_at_again_soon_and_known_since_when(signed: Zone, check: Check) -> None:
    check(NOW, has(), has())
    for number in range(1, 4):
        now = NOW + number * EVERY
        found = check(now, has(OTHER), has(ds(signed)))
        assert found is not None
        assert (found.state, found.since, found.due_at) == (ParentState.DIFFERS, NOW + EVERY, now + AGAIN)
    found = check(NOW + 4 * EVERY, has(ds(signed)), has(ds(signed)))
    assert found is not None
    assert (found.state, found.since) == (ParentState.MATCHES, NOW + 4 * EVERY)


def test_a_server_that_is_silent_changes_nothing_that_is_known(signed: Zone, check: Check) -> None:
    check(NOW, has(ds(signed)), has(ds(signed)))
    for number in (1, 2):
        now = NOW + number * EVERY
        found = check(now, nobody, has(ds(signed)))
        assert found is not None
        assert (found.state, found.known_at, found.checked_at) == (ParentState.MATCHES, NOW, now)
        assert (found.silent_since, found.due_at) == (NOW + EVERY, now + AGAIN)
        assert found.silent == f"Some servers for parent.test. didn’t respond: a.ns.test. {A}: no answer."
    found = check(NOW + 3 * EVERY, has(ds(signed)), has(ds(signed)))
    assert found is not None
    assert (found.silent, found.silent_since) == ("", None)


def test_one_wrong_ds_is_enough_beside_a_silent_server(signed: Zone, check: Check) -> None:
    found = check(NOW, nobody, has(OTHER))
    assert found is not None
    assert (found.state, found.silent) == (ParentState.DIFFERS, "")


def test_a_zone_that_was_unsigned_is_looked_at_while_its_parent_has_a_ds(signed: Zone, check: Check) -> None:
    text = ds(signed)
    check(NOW, has(text), has(text))
    sign.unsign(zones=[signed], acting=acting())
    found = check(NOW + EVERY, has(text), has())
    assert found is not None
    assert found.state == ParentState.DIFFERS
    assert "The zone isn’t signed, so" in found.message
    assert check(NOW + 2 * EVERY, has(), has()) is None


def test_a_ds_may_name_a_ksk_and_no_zsk(make_zone: MakeZone, check: Check) -> None:
    zone = make_zone(name=ZONE)
    sign.sign(zones=[zone], acting=acting(), split=True)
    ksk, zsk = sorted(queries.keys_of(zone), key=lambda key: -key.flags)
    found = check(NOW, has(zsk.ds_of(2)), has(zsk.ds_of(2)))
    assert found is not None
    assert found.state == ParentState.DIFFERS
    found = check(NOW + EVERY, has(ksk.ds[0]), has(ksk.ds[0]))
    assert found is not None
    assert found.state == ParentState.MATCHES


def test_of_a_zone_that_came_signed_the_ds_names_a_key_of_its_records(alice: User, check: Check) -> None:
    zone = presigned_zone(alice, "www 300 A 192.0.2.1", name=ZONE)
    [key] = queries.other_keys_of(zone)
    right = key.ds(zone.name)[0]
    found = check(NOW, has(right), has(right))
    assert found is not None
    assert found.state == ParentState.MATCHES
    found = check(NOW + EVERY, has(OTHER), has(OTHER))
    assert found is not None
    assert found.state == ParentState.DIFFERS


def test_of_a_parent_in_this_panel_the_records_are_known(make_zone: MakeZone) -> None:
    parent, zone = make_zone(name="parent.test."), make_zone(name=ZONE)
    sign.sign(zones=[zone], acting=acting())
    put_ds(parent, zone, ds(zone))
    parent_checks.admit(now=NOW)
    assert parent_checks.check_all(parent_checks.take_on(now=NOW), now=NOW, resolver=Resolver(())) == 1
    found = ParentCheck.objects.get()
    assert (found.state, found.parent, found.found["servers"]) == (ParentState.MATCHES, PARENT, {OURS: [ds(zone)]})


def test_signed_zones_get_a_check_and_others_none(make_zone: MakeZone, alice: User) -> None:
    zones = [make_zone(name=f"z{number}.test.") for number in range(AT_ONCE + 3)]
    make_zone(name="plain.test.")
    sign.sign(zones=zones, acting=acting())
    edit.delete_zone(zone=zones[0], acting=Acting(alice, "web", NOW))
    assert parent_checks.admit(now=NOW) == AT_ONCE + 2
    assert parent_checks.admit(now=NOW) == 0
    first, second, third = (parent_checks.take_on(now=NOW) for _ in range(3))
    assert (len(first), len(second), third) == (AT_ONCE, 2, [])
    assert not {claim.zone_id for claim in first} & {claim.zone_id for claim in second}
    # The checks of a dead worker are due again.
    assert len(parent_checks.take_on(now=NOW + LEASE)) == AT_ONCE


def test_taking_on_costs_the_same_for_one_as_for_many_but_for_their_parents(
    make_zone: MakeZone, django_assert_max_num_queries: Any
) -> None:
    zones = [make_zone(name=f"z{number}.test.") for number in range(AT_ONCE)]
    sign.sign(zones=zones, acting=acting())
    parent_checks.admit(now=NOW)
    with django_assert_max_num_queries(3 + 3 * AT_ONCE):
        parent_checks.take_on(now=NOW)


def test_what_somebody_else_found_meanwhile_stays(signed: Zone) -> None:
    parent_checks.admit(now=NOW)
    [old] = parent_checks.take_on(now=NOW)
    [new] = parent_checks.take_on(now=NOW + LEASE)
    look = parent_checks.look(old, resolver=Resolver(()), now=NOW)
    assert look.finding.silent == f"{ZONE}’s parent couldn’t be found: no resolver configured."
    assert not parent_checks.keep(claim=old, look=look, now=NOW)
    assert parent_checks.keep(claim=new, look=look, now=NOW)


def test_a_zone_that_is_gone_for_good_takes_its_check_along(signed: Zone) -> None:
    parent_checks.admit(now=NOW)
    Zone.objects.filter(pk=signed.pk).delete()
    assert not ParentCheck.objects.exists()


def test_a_person_who_may_sign_asks_at_once(signed: Zone, alice: User, charlie: User) -> None:
    parent_checks.ask_now(zone=signed, now=NOW, by=alice)
    found = ParentCheck.objects.filter(zone=signed).first()
    assert found is not None
    assert (found.due_at, found.requested_at) == (NOW, NOW)
    assert [claim.zone_id for claim in parent_checks.take_on(now=NOW, zone_ids=[signed.pk])] == [signed.pk]
    assert parent_checks.take_on(now=NOW, zone_ids=[signed.pk + 1]) == []
    assert (AuditEntry.objects.latest("pk").action, AuditEntry.objects.latest("pk").target) == (
        "dnssec.ask_parent",
        ZONE,
    )
    with pytest.raises(RightMissing):
        parent_checks.ask_now(zone=signed, now=NOW, by=charlie)


def test_of_a_zone_that_was_never_signed_nothing_is_asked(make_zone: MakeZone, alice: User) -> None:
    with pytest.raises(NotSigned):
        parent_checks.ask_now(zone=make_zone(name=ZONE), now=NOW, by=alice)
    assert not ParentCheck.objects.exists()


def test_the_zone_is_validated_from_the_root_down(make_zone: MakeZone, alice: User, settings: Any) -> None:
    """A PowerDNS with its own root serves one zone with the panel's key, and one with another key."""
    try:
        installation = powerdns.native()
    except powerdns.Unavailable as exc:
        pytest.skip(str(exc))
    zones = [make_zone(name=f"{name}.test.") for name in ("good", "stolen")]
    sign.sign(zones=zones, acting=acting())
    with installation.place("parents") as place:
        lines = SOA + "ns 3600 IN A 127.0.0.1\n"
        for zone in zones:
            lines += f"{zone.name} 3600 IN NS ns.test.\n{zone.name} 3600 IN DS {ds(zone)}\n"
            place.load_zone(zone.name, SOA)
        text = queries.private_text(zone=zones[0], key_id=queries.keys_of(zones[0])[0].id, person=alice)
        (place.directory / "key").write_text(text)
        place.pdnsutil("import-zone-key", "good.test", place.seen(place.directory / "key"), "ksk")
        place.pdnsutil("secure-zone", "stolen.test")
        place.load_zone("test.", lines)
        place.pdnsutil("secure-zone", "test")
        root = SOA + "test. 3600 IN NS ns.test.\nns.test. 3600 IN A 127.0.0.1\n"
        place.load_zone(".", root + "".join(f"test. 3600 IN DS {text}\n" for text in ds_of(place, "test.")))
        place.pdnsutil("secure-zone", ".")
        place.pdnsutil("rectify-all-zones")
        settings.TRUST_ANCHORS = ds_of(place, ".")
        with place.server() as port:
            parent_checks.admit(now=NOW)
            now = timezone.now()  # PowerDNS made the signatures just now
            claims = parent_checks.take_on(now=max(now, NOW))
            parent_checks.check_all(claims, now=now, resolver=Resolver(((RESOLVER, port),)), port=port)
    good, stolen = ParentCheck.objects.order_by("zone__name")
    assert (good.state, stolen.state) == (ParentState.MATCHES, ParentState.BOGUS)
    assert (good.found["root"], stolen.found["root"]) == ("secure", "bogus")
    assert good.message.endswith("The zone validates from the root.")
    assert (
        stolen.message == "stolen.test. doesn’t validate from the root: the DS for stolen.test. doesn’t match any key."
    )


def test_a_resolver_that_passes_no_signatures_on_proves_nothing(signed: Zone, check: Check, settings: Any) -> None:
    settings.TRUST_ANCHORS = [OTHER]
    found = check(NOW, has(ds(signed)), has(ds(signed)))
    assert found is not None
    assert (found.state, found.known_at) == (ParentState.UNKNOWN, None)
    assert found.silent.startswith(f"Validation of {ZONE} couldn’t be checked: ")


def test_workers_do_what_is_due_and_the_request_wakes_one(signed: Zone, alice: User, settings: Any) -> None:
    """No resolver is configured, so the worker can't find the parent."""
    settings.DNS_RESOLVERS = ["127.0.9.9:9"]
    tasks.check_parents()
    first = ParentCheck.objects.get()
    assert first.silent == f"{ZONE}’s parent couldn’t be found: resolver: no answer."
    ask_parent(zone=signed, now=timezone.now(), by=alice)
    tasks.check_parent(signed.pk)
    second = ParentCheck.objects.get()
    assert second.checked_at is not None
    assert first.checked_at is not None
    assert second.checked_at > first.checked_at
    assert second.silent_since == first.silent_since
    tasks.check_parent(signed.pk)
    assert ParentCheck.objects.get().checked_at == second.checked_at


def test_two_beats_at_once_are_one(signed: Zone) -> None:
    with psycopg.connect(**connection.get_connection_params()) as other:
        take(other, Lock.PARENT_CHECKS)
        tasks.check_parents()
        assert not ParentCheck.objects.exists()
