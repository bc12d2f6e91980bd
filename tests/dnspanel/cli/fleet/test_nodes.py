"""Tests of `dnspanel nodes`."""

import json

import pytest
from django.utils import timezone

from dnspanel.accounts.actors.actors import EVERY_RIGHT, Grant, Permission
from dnspanel.accounts.models import Role, User
from dnspanel.accounts.tokens.token_terms import TokenTerms
from dnspanel.accounts.tokens.tokens import create_token
from dnspanel.fleet.models import Node, NodeState
from dnspanel.fleet.nodes import node_lifecycle
from tests.dnspanel.cli.conftest import Run
from tests.dnspanel.fleet.conftest import MakeNode, signing_request
from tests.people import make_person


def test_nodes_are_listed_shown_and_watched(run: Run, erin: User, active_node: MakeNode) -> None:
    active_node("ns1")
    listed = run("nodes", "list")
    assert listed.code == 0
    assert listed.out.splitlines()[1].startswith("ns1   offline")
    displayed = run("nodes", "show", "ns1")
    assert "The panel hasn’t reached the node’s agent yet." in displayed.out
    assert run("nodes", "show", "ns1", "--output", "json").json["name"] == "ns1"
    watched = run("nodes", "watch", "--count", "2", "--interval", "0.1", "--output", "json")
    assert [[node["name"] for node in json.loads(line)] for line in watched.out.splitlines()] == [["ns1"], ["ns1"]]
    assert run("nodes", "watch", "--count", "1").out.splitlines()[0].startswith("NODE")


def test_a_node_that_there_is_not_is_refused(run: Run) -> None:
    assert run("nodes", "show", "ns9").code == 1


@pytest.fixture
def administrator(run: Run) -> Run:
    """Return a function that runs the command with a token that can change nodes."""
    person = make_person("ada", Role.ADMINISTRATOR)
    permissions = frozenset({Permission.FLEET, Permission.NODES})
    terms = TokenTerms(purpose="nodes", scope=(Grant(EVERY_RIGHT, everywhere=True),), permissions=permissions)
    secret = create_token(owner=person, terms=terms, by=person, now=timezone.now()).secret
    return lambda *args, **more: run(*args, token=secret, **more)


def request_from(node: Node) -> str:
    """Send an enrollment request for this node. Return the fingerprint that `join` prints."""
    code = node_lifecycle.make_code(node=node, now=timezone.now(), by=None)
    return node_lifecycle.submit_request(code=code, csr_pem=signing_request(), now=timezone.now()).fingerprint  # type: ignore[union-attr]


def test_a_node_is_approved_by_the_fingerprint_that_join_printed(administrator: Run, waiting_node: MakeNode) -> None:
    node = waiting_node("ns1")
    early = administrator("nodes", "approve", "ns1")
    assert (early.code, "No server asks to join as ns1" in early.err) == (1, True)
    fingerprint = request_from(node)
    wrong = administrator("nodes", "approve", "ns1", "--fingerprint", "0" * 64)
    assert (wrong.code, Node.objects.get().state) == (1, NodeState.AWAITING_APPROVAL)
    refused = administrator("nodes", "approve", "ns1", input="n\n")
    assert fingerprint in refused.err
    assert (refused.code, Node.objects.get().state) == (130, NodeState.AWAITING_APPROVAL)
    approved = administrator("nodes", "approve", "ns1", input="y\n")
    assert (approved.code, Node.objects.get().state) == (0, NodeState.ACTIVE)


def test_a_node_is_drained_resumed_revoked_and_retired(administrator: Run, run: Run, active_node: MakeNode) -> None:
    active_node("ns1")
    assert run("nodes", "drain", "ns1").code == 1  # a token that can only read
    states = [
        administrator("nodes", *words, "--output", "json").json["state"]
        for words in (("drain", "ns1", "--reason", "disk"), ("resume", "ns1"), ("revoke", "ns1", "--yes"))
    ]
    assert states == ["drained", "active", "awaiting"]
    kept = administrator("nodes", "retire", "ns1", input="n\n")
    assert (kept.code, Node.objects.get().state) == (130, NodeState.AWAITING_APPROVAL)
    retired = administrator("nodes", "retire", "ns1", "--yes", "--output", "json").json
    assert (retired["state"], retired["slug"]) == ("retired", Node.objects.get().slug)
    assert administrator("nodes", "show", retired["slug"]).code == 0
