"""Tests of waiting for the nodes. The flow tests show that the wait ends when real nodes confirm."""

import json
from threading import Thread
from time import monotonic
from uuid import uuid4

import pytest
from django.db import connection

from dnspanel.accounts.actors.actors import Permission
from dnspanel.accounts.models import User
from dnspanel.fleet.models import Ack, Node, NodeState
from dnspanel.secondaries import set_up_secondaries
from dnspanel.secondaries.models import Member, Secondary
from dnspanel.zones.models import LogHead, Publication, Zone
from tests.dnspanel.api.v1.conftest import Caller, MakeCaller, replace, texts
from tests.dnspanel.taken_back import REASON, refusing, take_back
from tests.people import NOW

PATCH = replace("www.example.test.", "A", "192.0.2.9")


def node(name: str, state: str = NodeState.ACTIVE) -> Node:
    return Node.objects.create(name=name, state=state, created_at=NOW, dns_address="192.0.2.53", agent_port=1)


def patch(call: Caller, query: str) -> tuple[int, str]:
    answer = call("PATCH", f"/zones/example.test.{query}", {"rrsets": [PATCH]})
    return answer.status_code, texts(answer) if answer.content else ""


def test_without_nodes_there_is_nothing_to_wait_for(call: Caller, zone: Zone) -> None:
    node("drained", NodeState.DRAINED)
    assert patch(call, "?wait=all") == (204, "")


@pytest.mark.django_db(transaction=True)
def test_a_node_that_does_not_answer_in_time_is_named_and_the_change_is_saved(
    make_caller: MakeCaller, zone: Zone
) -> None:
    node("ns1")
    status, words = patch(make_caller(permissions=frozenset({Permission.FLEET})), "?wait=all&timeout=0.1")
    assert status == 504
    assert "The change is saved (sequence 2)" in words
    assert "1 node did not answer with it within 0.1 s: ns1: " in words
    assert Publication.objects.count() == 2


@pytest.mark.django_db(transaction=True)
def test_who_may_not_see_the_fleet_reads_how_many_lack(call: Caller, zone: Zone) -> None:
    for name in ("ns1", "ns2"):
        node(name)
    status, words = patch(call, "?wait=all&timeout=0")
    assert status == 504
    assert words.endswith("but 2 nodes did not answer with it within 0 s")


@pytest.mark.django_db(transaction=True)
def test_the_answer_comes_when_every_node_has_proved_it(call: Caller, zone: Zone) -> None:
    nodes = [node("ns1"), node("ns2")]
    Ack.objects.create(node=nodes[0], epoch=uuid4(), sequence=99, at=NOW)  # of another epoch
    found: list[tuple[int, str]] = []

    def write() -> None:
        found.append(patch(call, "?wait=all&timeout=20"))
        connection.close()

    writer = Thread(target=write)
    writer.start()
    until = monotonic() + 10
    while Publication.objects.count() < 2 and monotonic() < until:
        writer.join(0.02)
    for each in nodes:
        writer.join(0.1)
        assert writer.is_alive()
        Ack.objects.create(node=each, epoch=LogHead.objects.get().epoch, sequence=2, at=NOW)
    writer.join(10)
    assert found == [(204, "")]


@pytest.mark.parametrize(
    "query", ["?wait=some", "?wait=all&timeout=soon", "?wait=all&timeout=-1", "?wait=all&timeout=nan"]
)
def test_what_cannot_be_waited_for_is_refused_before_anything_is_done(call: Caller, zone: Zone, query: str) -> None:
    assert patch(call, query)[0] == 422
    for method, path, body in [
        ("POST", "/zones", {"name": "new.test.", "kind": "Native"}),
        ("PUT", "/zones/example.test.", {"account": "x"}),
        ("DELETE", "/zones/example.test.", None),
    ]:
        assert call(method, path + query, body).status_code == 422
    assert Publication.objects.count() == 1
    assert json.loads(call("GET", "/zones").content)[0]["account"] == ""


@pytest.mark.django_db(transaction=True)
def test_all_are_secondaries_too_and_nodes_are_nodes_alone(make_caller: MakeCaller, zone: Zone, alice: User) -> None:
    set_up_secondaries.create_secondary(terms=set_up_secondaries.Terms("partner", ["9.9.9.9"]), by=alice, now=NOW)
    call = make_caller(permissions=frozenset({Permission.FLEET}))
    status, words = patch(call, "?wait=all&timeout=0")
    assert status == 504
    lacks = "partner is still behind on example.test."
    assert words.endswith(f"but 1 secondary did not answer with it within 0 s: {lacks}")
    Secondary.objects.update(noted=9)
    Member.objects.update(served_serial=3)
    another = replace("www.example.test.", "A", "192.0.2.10")
    written = call("PATCH", "/zones/example.test.?wait=all&timeout=0", {"rrsets": [another]})
    assert (written.status_code, written["X-PDNS-New-Serial"]) == (204, "3")
    third = replace("www.example.test.", "A", "192.0.2.11")
    assert call("PATCH", "/zones/example.test.?wait=nodes&timeout=0", {"rrsets": [third]}).status_code == 204


@pytest.mark.django_db(transaction=True)
def test_who_waits_for_what_is_taken_back_reads_why_at_once(call: Caller, zone: Zone) -> None:
    ns1 = node("ns1")
    with refusing(2, lambda sequence: take_back(sequence, ns1)):
        status, words = patch(call, "?wait=all&timeout=20")
    assert status == 422
    assert "The change was reverted because the nodes couldn’t serve it. " + REASON in words
