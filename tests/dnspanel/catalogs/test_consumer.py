"""Tests of catalogs that BIND produces: zones come, leave, restart and move, and broken catalogs change nothing.

Tests `catalogs.member_terms` and `catalogs.turn` too.
"""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from dnspanel.accounts.models import AuditEntry, Team, User
from dnspanel.accounts.quotas.quota_amounts import Kind
from dnspanel.accounts.quotas.quota_edit import set_quotas
from dnspanel.catalogs import consumer, member_terms, set_up_catalogs
from dnspanel.catalogs.errors import NothingKept
from dnspanel.catalogs.models import Catalog, Listing
from dnspanel.catalogs.set_up_catalogs import CatalogTerms, RuleTerms
from dnspanel.primaries import refresh
from dnspanel.primaries import set_up_primaries as primaries
from dnspanel.primaries.errors import TakeOverRefused
from dnspanel.primaries.models import TransferredZone
from dnspanel.primaries.set_up_primaries import Terms
from dnspanel.zones.acting import Acting
from dnspanel.zones.models import Channel, Revision, RevisionKind, RRset, Zone
from dnspanel.zones.publishing import edit
from replication.dns import rdtypes
from tests.dnspanel.catalogs.conftest import (
    FIRST,
    KEY,
    SECOND,
    ZONES,
    Producer,
    followed,
    names_here,
    reason_of,
    take_turns,
)
from tests.dnspanel.zones import ruled
from tests.people import NOW

pytestmark = pytest.mark.django_db(transaction=True)

ONE, TWO, THREE = ZONES[:3]


def zone_of(name: str) -> Zone:
    return Zone.objects.get(name=name, deleted_at=None)


def transferred(name: str) -> TransferredZone:
    return TransferredZone.objects.get(zone=zone_of(name))


def test_members_become_zones_from_where_the_catalog_comes_and_leave_with_it(producer: Producer, alice: User) -> None:
    producer.name(FIRST, ONE, TWO)
    team = Team.objects.create(name="Partners", created_at=NOW)
    catalog = followed(producer, alice, team=team.pk, tags=["partner"])
    assert names_here(catalog) == [ONE, TWO]
    row = transferred(ONE)
    assert (row.addresses, row.tsig_name) == ([producer.address], "transfer.")
    assert refresh.take_turn(zone_id=row.pk, clock=lambda: NOW) == "axfr"
    zone = zone_of(ONE)
    assert (zone.is_served, zone.team, zone.tags) == (True, team, ["partner"])
    producer.forget(FIRST, "member0")
    producer.name(FIRST, THREE)
    catalog = take_turns(catalog)
    assert names_here(catalog) == [TWO, THREE]
    assert not Zone.objects.filter(name=ONE, deleted_at=None).exists()
    assert (catalog.listed, catalog.followed) == (2, catalog.zone.revision)
    last = AuditEntry.objects.filter(action="catalog.followed").latest("pk")
    assert (last.target, last.details["made"], last.details["removed"]) == (FIRST, 1, 1)
    assert consumer.catalogs_due(NOW) == []
    assert consumer.catalogs_due(NOW + consumer.LOOK_AGAIN) == [catalog.pk]


def test_no_node_gets_the_catalog_itself_and_it_is_not_taken_over(producer: Producer, alice: User) -> None:
    producer.name(FIRST, ONE)
    catalog = followed(producer, alice)
    producer.name(FIRST, TWO)
    catalog = take_turns(catalog)
    assert not catalog.zone.is_served
    kinds = Revision.objects.filter(zone=catalog.zone).order_by("number").values_list("kind", flat=True)
    assert list(kinds) == [RevisionKind.AWAIT, RevisionKind.LIST, RevisionKind.LIST]
    assert RRset.objects.filter(zone=catalog.zone, type=rdtypes.PTR).count() == 2
    assert refresh.take_turn(zone_id=catalog.pk, clock=lambda: NOW) == ""
    with pytest.raises(TakeOverRefused, match="is a catalog zone"):
        primaries.take_over(zone=catalog.zone, acting=Acting(alice, Channel.WEB, NOW))


def test_a_member_under_another_label_begins_anew(producer: Producer, alice: User) -> None:
    producer.name(FIRST, ONE, TWO)
    catalog = followed(producer, alice)
    for name in (ONE, TWO):
        refresh.take_turn(zone_id=zone_of(name).pk, clock=lambda: NOW)
    before = zone_of(ONE).pk
    TransferredZone.objects.update(serial=4_000_000_000)  # newer than the producer's, but transferred anyway
    TransferredZone.objects.filter(pk=catalog.pk).update(serial=1)
    producer.forget(FIRST, "member0")
    producer.name(FIRST, ONE, label="another")
    take_turns(catalog)
    row = transferred(ONE)
    assert (row.pk, row.serial, row.wants_all) == (before, None, True)
    assert transferred(TWO).serial == 4_000_000_000
    assert refresh.take_turn(zone_id=row.pk, clock=lambda: NOW) == "axfr"
    assert transferred(ONE).serial == 10


def test_groups_get_what_their_rules_say_and_another_group_other_primaries(producer: Producer, alice: User) -> None:
    gold = Team.objects.create(name="Gold", created_at=NOW)
    producer.name(FIRST, ONE, group="gold")
    producer.name(FIRST, TWO)
    catalog = followed(producer, alice, tags=["all"])
    rules = [RuleTerms("gold", gold.pk, ["gold"], Terms(["9.9.9.9"])), RuleTerms("silver", None, ["silver"])]
    set_up_catalogs.set_rules(catalog=catalog, rules=rules, author=alice, now=NOW)
    take_turns(catalog)
    assert (transferred(ONE).addresses, transferred(TWO).addresses) == (["9.9.9.9"], [producer.address])
    assert (zone_of(ONE).team, zone_of(ONE).tags) == (gold, ["all", "gold"])
    assert (zone_of(TWO).team, zone_of(TWO).tags) == (None, ["all"])
    producer.update(FIRST, ("replace", ("group.member0.zones", 0, "TXT", '"silver"')))
    take_turns(catalog)
    assert (transferred(ONE).addresses, zone_of(ONE).tags) == ([producer.address], ["all", "silver"])
    TransferredZone.objects.filter(pk=catalog.pk).update(addresses=["9.9.9.10", producer.address])
    take_turns(catalog)
    assert transferred(TWO).addresses == ["9.9.9.10", producer.address]


def test_too_many_that_leave_at_once_are_kept_until_somebody_confirms_it(producer: Producer, alice: User) -> None:
    producer.name(FIRST, *ZONES)
    catalog = followed(producer, alice)
    producer.forget(FIRST, *(zone.partition(".")[0] for zone in ZONES[:7]))
    catalog = take_turns(catalog)
    assert names_here(catalog) == sorted(ZONES)
    assert (catalog.kept_since, catalog.kept_count) == (NOW, 7)
    assert AuditEntry.objects.filter(action="catalog.kept", target=FIRST).count() == 1
    assert catalog.kept_revision is not None
    with pytest.raises(NothingKept):
        set_up_catalogs.confirm_removals(catalog=catalog, revision=catalog.kept_revision - 1, author=alice, now=NOW)
    set_up_catalogs.confirm_removals(catalog=catalog, revision=catalog.kept_revision, author=alice, now=NOW)
    catalog = take_turns(catalog)
    assert names_here(catalog) == sorted(ZONES[7:])
    assert (catalog.kept_since, catalog.kept_count) == (None, 0)


def test_what_was_kept_and_is_named_again_stays_as_it_is(producer: Producer, alice: User) -> None:
    producer.name(FIRST, *ZONES)
    catalog = followed(producer, alice)
    before = {name: zone_of(name).pk for name in ZONES}
    producer.forget(FIRST, *(zone.partition(".")[0] for zone in ZONES))
    assert take_turns(catalog).kept_count == len(ZONES)
    producer.name(FIRST, *ZONES)
    catalog = take_turns(catalog)
    assert catalog.kept_since is None
    assert {name: zone_of(name).pk for name in ZONES} == before


@pytest.mark.parametrize(
    ("acts", "reason"),
    [
        ([("delete", ("version",))], "no version"),
        ([("replace", ("version", 0, "TXT", '"1"'))], 'it states "1"'),
        ([("add", ("version", 0, "TXT", '"3"'))], "it states"),
        ([("add", ("again.zones", 0, "PTR", ONE))], f"lists {ONE} twice"),
        ([("add", ("member0.zones", 0, "PTR", TWO))], "points to 2 zones"),
        ([("add", ("coo.member0.zones", 0, "PTR", n)) for n in ("a.test.", "b.test.")], "points to 2 zones"),
    ],
    ids=["no-version", "version-1", "two-versions", "twice", "two-zones", "two-coo"],
)
def test_a_broken_catalog_changes_nothing_and_is_told(
    acts: list[Any], reason: str, producer: Producer, alice: User
) -> None:
    producer.name(FIRST, ONE)
    catalog = followed(producer, alice)
    producer.name(FIRST, THREE)
    producer.update(FIRST, *acts)
    catalog = take_turns(catalog)
    assert names_here(catalog) == [ONE]
    assert catalog.broken_since == NOW
    assert reason in catalog.broken_reason
    assert AuditEntry.objects.filter(action="catalog.broken", target=FIRST).count() == 1
    later = take_turns(catalog, after=timedelta(hours=1))
    assert later.broken_since == NOW


def test_a_zone_that_is_here_already_is_not_taken_until_its_name_is_free(producer: Producer, alice: User) -> None:
    edit.create_zone(zone=edit.NewZone(ONE), acting=Acting(alice, Channel.WEB, NOW))
    producer.name(FIRST, ONE, TWO)
    catalog = followed(producer, alice)
    assert names_here(catalog) == [TWO]
    assert reason_of(catalog, ONE) == "A zone with this name already exists here but isn’t a member of the catalog."
    assert not zone_of(ONE).transferred_from
    with CaptureQueriesContext(connection) as made:
        take_turns(catalog)
    assert not [each for each in made if 'UPDATE "catalogs_listing"' in str(each["sql"])], "it is noted so already"
    edit.delete_zone(zone=zone_of(ONE), acting=Acting(alice, Channel.WEB, NOW))
    take_turns(catalog)
    assert names_here(catalog) == [ONE, TWO]


def test_two_catalogs_that_name_one_zone_the_first_has_it(producer: Producer, alice: User) -> None:
    producer.name(FIRST, ONE)
    producer.name(SECOND, ONE)
    first, second = followed(producer, alice), followed(producer, alice, SECOND)
    assert (names_here(first), names_here(second)) == ([ONE], [])
    assert reason_of(second, ONE) == (
        f"The zone is a member of {FIRST}, which doesn’t allow moving it to this catalog (no coo property)."
    )
    producer.forget(FIRST, "member0")
    take_turns(first)
    take_turns(second)
    assert (names_here(first), names_here(second)) == ([], [ONE])


@pytest.mark.parametrize("label", ["member0", "another"])
def test_a_member_goes_to_another_catalog_when_the_first_says_so(label: str, producer: Producer, alice: User) -> None:
    """With the same label, the member stays unchanged. With another label, it starts again."""
    producer.name(FIRST, ONE, TWO)
    first, second = followed(producer, alice), followed(producer, alice, SECOND)
    pk = zone_of(ONE).pk
    refresh.take_turn(zone_id=pk, clock=lambda: NOW)
    producer.name(FIRST, ONE, coo=SECOND)
    producer.name(SECOND, ONE, label=label)
    take_turns(first)
    take_turns(second)
    assert (names_here(first), names_here(second)) == ([TWO], [ONE])
    assert zone_of(ONE).pk == pk
    assert transferred(ONE).serial == (10 if label == "member0" else None)
    take_turns(first)
    assert reason_of(first, ONE) == f"{SECOND} is now the zone’s catalog."
    producer.forget(FIRST, "member0")
    take_turns(first)
    assert (names_here(first), names_here(second)) == ([TWO], [ONE])
    assert not Listing.objects.filter(catalog=first, zone_name=ONE).exists()


def test_a_member_that_was_taken_over_stays_when_it_leaves(producer: Producer, alice: User) -> None:
    producer.name(FIRST, ONE, TWO)
    catalog = followed(producer, alice)
    refresh.take_turn(zone_id=zone_of(ONE).pk, clock=lambda: NOW)
    primaries.take_over(zone=zone_of(ONE), acting=Acting(alice, Channel.WEB, NOW))
    producer.forget(FIRST, "member0", "member1")
    take_turns(catalog)
    assert names_here(catalog) == []
    assert zone_of(ONE).is_served
    assert not Zone.objects.filter(name=TWO, deleted_at=None).exists()


def test_a_member_that_was_deleted_here_comes_back(producer: Producer, alice: User) -> None:
    producer.name(FIRST, ONE)
    catalog = followed(producer, alice)
    first = zone_of(ONE)
    edit.delete_zone(zone=first, acting=Acting(alice, Channel.WEB, NOW))
    take_turns(catalog)
    assert names_here(catalog) == [ONE]
    assert zone_of(ONE).pk != first.pk


def test_a_catalog_that_lies_gets_no_more_members_than_it_may_nor_other_names(producer: Producer, alice: User) -> None:
    many = [f"m{number}.many.test." for number in range(30)]
    producer.name(FIRST, "com.", "secondaries.dnspanel.", "else.example.", *many)
    catalog = followed(producer, alice, most_members=10, within=["test.", "com.", "dnspanel."])
    assert names_here(catalog) == sorted(many)[:9], "the tenth place was that of com."
    assert reason_of(catalog, "else.example.") == (
        "The zone isn’t below any of the names that are allowed for this catalog."
    )
    assert "The catalog can’t have more than 10 members." in reason_of(catalog, sorted(many)[-1])
    assert "The zone com. isn’t allowed" in reason_of(catalog, "com.")


WWW, ACME, ABOVE = "www.beta.test.", "_acme-challenge.beta.test.", "above.test."


@pytest.fixture
def others(alice: User) -> None:
    """Create two zones that aren't members: one above and one below zones that the catalog lists."""
    for name in ("beta.test.", "low.above.test."):
        edit.create_zone(zone=edit.NewZone(name), acting=Acting(alice, Channel.WEB, NOW))


@pytest.mark.parametrize("within", [[], ["test."]], ids=["any", "test"])
def test_a_member_inside_or_above_a_zone_that_is_no_member_is_not_taken(
    within: list[str], producer: Producer, alice: User, others: None
) -> None:
    """Regression test: a catalog's operator could add `_acme-challenge` and `www` of every zone of the panel."""
    deep = "a.b.c.beta.test."
    producer.name(FIRST, ONE, WWW, ABOVE)
    producer.name(FIRST, ACME, label="acme")
    producer.name(FIRST, deep, label="deep")
    catalog = followed(producer, alice, within=within)
    assert names_here(catalog) == [ONE]
    for name in (WWW, ACME, deep):
        assert reason_of(catalog, name).startswith("The zone is inside beta.test., which isn’t a member")
    assert reason_of(catalog, ABOVE).startswith("The zone is above low.above.test., which isn’t a member")


def test_a_member_inside_or_above_a_zone_that_the_follower_named_is_taken(
    producer: Producer, alice: User, others: None
) -> None:
    producer.name(FIRST, WWW, ABOVE)
    producer.name(FIRST, ACME, label="acme")
    catalog = followed(producer, alice, within=[WWW, ABOVE])
    assert names_here(catalog) == [WWW], "the part of the zone that is named, and no more"
    terms = CatalogTerms(within=["beta.test.", ABOVE, "low.above.test."])
    set_up_catalogs.change_catalog(catalog=catalog, terms=terms, author=alice, now=NOW)
    assert names_here(take_turns(catalog)) == sorted([WWW, ACME, ABOVE])


def test_members_inside_each_other_are_taken_but_not_those_inside_one_that_was_taken_over(
    producer: Producer, alice: User
) -> None:
    inside, later = f"inside.{ONE}", f"later.{ONE}"
    producer.name(FIRST, ONE, inside)
    catalog = followed(producer, alice)
    assert names_here(catalog) == sorted([ONE, inside])
    refresh.take_turn(zone_id=zone_of(ONE).pk, clock=lambda: NOW)
    primaries.take_over(zone=zone_of(ONE), acting=Acting(alice, Channel.WEB, NOW))
    producer.name(FIRST, later)
    catalog = take_turns(catalog)
    assert names_here(catalog) == sorted([ONE, inside])
    assert reason_of(catalog, later).startswith(f"The zone is inside {ONE}")


def test_a_member_beside_its_own_catalog_zone_is_taken(producer: Producer, alice: User) -> None:
    """The catalog zone is usually below its producer's domain, and no node serves it."""
    producer.name(FIRST, "catalog.test.", label="parent")
    producer.name(FIRST, f"sub.{FIRST}", label="child")
    assert names_here(followed(producer, alice)) == sorted(["catalog.test.", f"sub.{FIRST}"])


def test_a_member_does_not_move_into_a_zone_that_stays_with_the_first_catalog(producer: Producer, alice: User) -> None:
    inside = f"inside.{ONE}"
    producer.name(FIRST, ONE, inside)
    first, second = followed(producer, alice), followed(producer, alice, SECOND)
    producer.name(FIRST, inside, coo=SECOND)
    producer.name(SECOND, inside)
    take_turns(first)
    take_turns(second)
    assert (names_here(first), names_here(second)) == (sorted([ONE, inside]), [])
    assert reason_of(second, inside).startswith(f"The zone is inside {ONE}")
    producer.name(FIRST, ONE, coo=SECOND)
    producer.name(SECOND, ONE)
    take_turns(first)
    take_turns(second)
    assert names_here(second) == sorted([ONE, inside])


@pytest.mark.parametrize("kind", ["approval", "freeze", "lock"])
def test_a_member_is_asked_of_the_rules_of_the_zone_above(
    kind: str, producer: Producer, alice: User, others: None
) -> None:
    lift = ruled.PLACE[kind](zone_of("beta.test."), alice)
    producer.name(FIRST, ONE, WWW)
    catalog = followed(producer, alice, within=["test.", "beta.test."])
    assert names_here(catalog) == [ONE]
    assert "beta.test" in reason_of(catalog, WWW)
    lift()
    assert names_here(take_turns(catalog)) == sorted([ONE, WWW])


def test_a_team_gets_no_more_members_than_it_may_have_zones(producer: Producer, alice: User) -> None:
    team = Team.objects.create(name="Partners", created_at=NOW)
    set_quotas(of=team, quotas={Kind.ZONES: 2}, by=None, now=NOW)
    producer.name(FIRST, ONE, TWO, THREE)
    catalog = followed(producer, alice, team=team.pk)
    assert names_here(catalog) == [ONE, TWO]
    assert reason_of(catalog, THREE) == "The team Partners has reached its zone limit."


def test_more_than_a_turn_takes_is_done_in_several(
    producer: Producer, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (consumer, member_terms):
        monkeypatch.setattr(module, "BATCH", 5)
    producer.name(FIRST, *ZONES)
    catalog = followed(producer, alice, most_lost=100)
    assert names_here(catalog) == sorted(ZONES)
    producer.forget(FIRST, *(zone.partition(".")[0] for zone in ZONES))
    assert refresh.take_turn(zone_id=catalog.pk, clock=lambda: NOW) in ("axfr", "ixfr")
    assert consumer.take_turn(catalog_id=catalog.pk, now=NOW)
    assert len(names_here(catalog)) == len(ZONES) - 5
    take_turns(catalog)
    assert names_here(catalog) == []


@contextmanager
def cutting_off(port: int, after: int) -> Iterator[int]:
    """Run a proxy for the producer that answers over UDP, but sends only `after` bytes of each answer over TCP."""
    with socket.create_server(("127.0.0.1", 0)) as tcp, socket.socket(type=socket.SOCK_DGRAM) as udp:
        udp.bind(tcp.getsockname())

        def over_udp() -> None:
            with suppress(OSError):
                while True:
                    wire, sender = udp.recvfrom(4096)
                    if not wire:  # the server was shut down
                        return
                    with socket.create_connection(("127.0.0.1", port), 5) as there:
                        there.sendall(len(wire).to_bytes(2) + wire)
                        udp.sendto(there.recv(4096)[2:], sender)

        def over_tcp() -> None:
            with suppress(OSError):
                while True:
                    client, _ = tcp.accept()
                    with client, socket.create_connection(("127.0.0.1", port), 5) as there:
                        there.sendall(client.recv(4096))
                        client.sendall(there.recv(after))

        threads = [threading.Thread(target=serve, daemon=True) for serve in (over_udp, over_tcp)]
        for thread in threads:
            thread.start()
        try:
            yield tcp.getsockname()[1]
        finally:
            for sock in (tcp, udp):
                with suppress(OSError):  # sockets without a peer raise an error, but are shut down
                    sock.shutdown(socket.SHUT_RDWR)
            for thread in threads:
                thread.join(5)


def test_a_catalog_that_is_cut_off_in_the_middle_changes_nothing_and_is_told(producer: Producer, alice: User) -> None:
    producer.name(FIRST, *ZONES)
    catalog = followed(producer, alice)
    producer.forget(FIRST, *(zone.partition(".")[0] for zone in ZONES[:3]))
    with cutting_off(producer.port, 100) as port:
        cut = Terms([f"127.0.0.1:{port}"], **KEY)
        primaries.set_primaries(zone=catalog.zone, terms=cut, acting=Acting(alice, Channel.API, NOW))
        catalog = take_turns(catalog)
    assert "the server closed the connection before the end of the zone" in catalog.zone.transferred.error
    assert names_here(catalog) == sorted(ZONES)
    primaries.set_primaries(
        zone=catalog.zone, terms=Terms([producer.address], **KEY), acting=Acting(alice, Channel.API, NOW)
    )
    take_turns(catalog)
    assert names_here(catalog) == sorted(ZONES[3:])


def test_a_producer_that_is_dead_changes_nothing(producer: Producer, alice: User) -> None:
    producer.name(FIRST, ONE)
    catalog = followed(producer, alice)
    dead = Terms(["127.0.0.1:1024"], **KEY)
    primaries.set_primaries(zone=catalog.zone, terms=dead, acting=Acting(alice, Channel.API, NOW))
    before = Catalog.objects.get(pk=catalog.pk).followed
    assert "127.0.0.1 port 1024" in refresh.take_turn(zone_id=catalog.pk, clock=lambda: NOW)
    assert not consumer.take_turn(catalog_id=catalog.pk, now=NOW)
    assert names_here(catalog) == [ONE]
    assert Catalog.objects.get(pk=catalog.pk).followed == before


def test_a_catalog_that_was_never_here_or_is_gone_is_passed_over(producer: Producer, alice: User) -> None:
    assert not consumer.take_turn(catalog_id=4711, now=NOW)
    producer.name(FIRST, ONE)
    catalog = followed(producer, alice)
    edit.delete_zone(zone=catalog.zone, acting=Acting(alice, Channel.WEB, NOW))
    producer.forget(FIRST, "member0")
    assert not consumer.take_turn(catalog_id=catalog.pk, now=NOW)
    assert consumer.catalogs_due(NOW + timedelta(days=1)) == []
    assert names_here(catalog) == [ONE]
