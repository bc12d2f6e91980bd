"""Tests of `dnspanel fronts`."""

from dataclasses import replace

import pytest
from django.utils import timezone

from dnspanel.accounts.actors.roles import Permission
from dnspanel.accounts.models import Role, User
from dnspanel.accounts.tokens.tokens import create_token
from dnspanel.fleet.models import Node
from dnspanel.fleet.nodes import fronts
from dnspanel.fleet.nodes.fronts import Terms
from replication.wire.front_messages import BackendReport, FrontReport
from tests.dnspanel.cli.conftest import EVERYTHING, Run
from tests.dnspanel.fleet.conftest import MakeNode, create_front
from tests.people import NOW, make_person

OUT = BackendReport("ns1", "192.0.2.53:53", 1, False, True, "is drained: disks", 41, 0, 900, 120.5, 2, 0.31)


@pytest.fixture
def front(active_node: MakeNode) -> Node:
    active_node("ns1")
    front = create_front()
    fronts.set_terms(node=front, terms=Terms({"ns1": 1}), now=NOW, by=None)
    Node.objects.filter(pk=front.pk).update(report={"front": FrontReport("ab", 1, 0, (OUT,)).to_json()})
    return front


def test_the_nodes_behind_a_front_are_listed_with_why_they_are_out(run: Run, erin: User, front: Node) -> None:
    [_, line] = run("fronts", "nodes", "front1").out.splitlines()
    assert line.split()[:3] == ["ns1", "out", "120.5"]
    assert line.endswith("is drained: disks")
    assert "ns1=1" in run("fronts", "show", "front1").out
    assert run("fronts", "show", "ns1").code == 1


def test_a_front_is_set_by_who_may(run: Run, erin: User, front: Node) -> None:
    assert run("fronts", "set", "front1", "--minimum", "1").code == 1, "an editor changes no nodes"
    alice = make_person("alice", Role.ADMINISTRATOR)
    terms = replace(EVERYTHING, permissions={*EVERYTHING.permissions, Permission.NODES})
    token = create_token(owner=alice, terms=terms, by=alice, now=timezone.now()).secret
    done = run("fronts", "set", "front1", "--node", "ns1=5", "--cache-entries", "900", token=token)
    assert done.code == 0, done.err
    assert fronts.terms_of(front) == Terms({"ns1": 5}, cache_entries=900)
    assert run("fronts", "set", "front1", "--node", "ns1=many", token=token).code == 1
