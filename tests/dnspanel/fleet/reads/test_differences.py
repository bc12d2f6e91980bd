"""Tests of the list of zones that not every node serves as published."""

from datetime import timedelta

import pytest
from django.utils import timezone
from pytest_django.fixtures import DjangoAssertNumQueries

from dnspanel.accounts.models import Role, User
from dnspanel.fleet.models import Divergence, Node
from dnspanel.fleet.reads.differences import MOST_ZONES, Cell, matrix
from dnspanel.zones.acting import Acting
from dnspanel.zones.models import LogHead, Zone
from dnspanel.zones.publishing import edit
from tests.dnspanel.fleet.conftest import NOW, MakeNode
from tests.people import make_person

pytestmark = pytest.mark.django_db


@pytest.fixture
def reader() -> User:
    return make_person("rita", Role.READER)


def publish(name: str) -> Zone:
    edit.create_zone(zone=edit.NewZone(name), acting=Acting(None, "system", NOW))
    return Zone.objects.get(name=name)


def put_at(node: Node, sequence: int) -> None:
    Node.objects.filter(pk=node.pk).update(epoch=LogHead.objects.get().epoch, acked=sequence)


def test_a_zone_stands_there_from_its_publication_until_every_node_proved_it(
    active_node: MakeNode, reader: User
) -> None:
    one, two = active_node("ns1"), active_node("ns2")
    publish("old.test.")
    put_at(one, 1)
    put_at(two, 1)
    assert matrix(person=reader).rows == ()
    zone = publish("new.test.")
    put_at(one, 2)
    found = matrix(person=reader)
    [row] = found.rows
    assert ([node.name for node in found.nodes], row.zone) == (["ns2"], zone)
    assert row.cells == (Cell("nothing", "not yet", "The zone is not on this node yet."),)
    put_at(two, 2)
    assert matrix(person=reader).rows == ()


def test_a_node_behind_shows_the_revision_that_it_serves(active_node: MakeNode, reader: User) -> None:
    node = active_node("ns1")
    zone = publish("example.test.")
    put_at(node, 1)
    for number in range(3):
        edit.delete_zone(zone=zone, acting=Acting(None, "system", NOW + timedelta(seconds=number)))
        edit.restore_zone(zone=zone, author=None, channel="system", now=NOW + timedelta(seconds=number))
    [row] = matrix(person=reader).rows
    assert row.cells[0].kind == "behind"
    assert row.cells[0].text == "1"


def test_a_deleted_zone_that_a_node_still_serves_is_shown(active_node: MakeNode, reader: User) -> None:
    node = active_node("ns1")
    zone = publish("gone.test.")
    put_at(node, 1)
    edit.delete_zone(zone=zone, acting=Acting(None, "system", NOW))
    [row] = matrix(person=reader).rows
    assert row.zone.deleted_at is not None
    put_at(node, 2)
    assert matrix(person=reader).rows == ()


def test_a_node_that_has_nothing_yet_is_named_and_not_compared(active_node: MakeNode, reader: User) -> None:
    active_node("ns1")
    put_at(active_node("ns2"), 1)
    publish("example.test.")
    found = matrix(person=reader)
    assert (found.rows, found.empty, found.total_nodes) == ((), ("ns1",), 2)


def test_content_that_differs_is_shown_until_it_is_repaired(active_node: MakeNode, reader: User) -> None:
    node, zone = active_node("ns1"), publish("example.test.")
    put_at(node, 1)
    divergence = Divergence.objects.create(
        node=node, zone_id=zone.pk, zone_name=zone.name, words="2 rows lack", found_at=NOW
    )
    assert matrix(person=reader).rows[0].cells == (Cell("differs", "differs", "2 rows lack"),)
    Divergence.objects.filter(pk=divergence.pk).update(repaired_at=timezone.now())
    assert matrix(person=reader).rows == ()


def test_nobody_sees_names_of_zones_that_they_may_not_read(active_node: MakeNode) -> None:
    put_at(active_node("ns1"), 1)
    publish("first.test.")
    publish("secret.test.")
    assert matrix(person=make_person("mona", Role.MEMBER)).rows == ()


def test_a_long_list_is_cut_and_costs_as_many_queries_as_a_short_one(
    active_node: MakeNode, reader: User, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    put_at(active_node("ns1"), 1)
    publish("first.test.")
    for number in range(MOST_ZONES + 1):
        publish(f"z{number:03}.test.")
    with django_assert_max_num_queries(8):
        found = matrix(person=reader)
    assert (len(found.rows), found.more) == (MOST_ZONES, True)
    assert [row.zone.name for row in matrix(person=reader, search="z1").rows] == ["z100.test."]
