"""`dnspanel nodes`."""

import json

from dnspanel.accounts.models import User
from tests.dnspanel.cli.conftest import Run
from tests.dnspanel.fleet.conftest import MakeNode


def test_nodes_are_listed_shown_and_watched(run: Run, erin: User, active_node: MakeNode) -> None:
    active_node("ns1")
    listed = run("nodes", "list")
    assert listed.code == 0
    assert listed.out.splitlines()[1].startswith("ns1   offline")
    displayed = run("nodes", "show", "ns1")
    assert "The panel has not reached its agent yet." in displayed.out
    assert run("nodes", "show", "ns1", "--output", "json").json["name"] == "ns1"
    watched = run("nodes", "watch", "--count", "2", "--interval", "0.1", "--output", "json")
    assert [[node["name"] for node in json.loads(line)] for line in watched.out.splitlines()] == [["ns1"], ["ns1"]]
    assert run("nodes", "watch", "--count", "1").out.splitlines()[0].startswith("NODE")


def test_a_node_that_there_is_not_is_refused(run: Run) -> None:
    assert run("nodes", "show", "ns9").code == 1
