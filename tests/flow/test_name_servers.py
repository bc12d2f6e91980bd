"""Name server sets with a complete panel: all nodes' answers for zones of a team with a set."""

import json

import pytest

from dnspanel.demo.stack import Stack
from tests.flow.test_command_line import Run, run
from tests.stack import Answer, ask_all, run_inside, until

__all__ = ["run"]

pytestmark = pytest.mark.flow


def answers(stack: Stack, name: str, rdtype: str, *rdata: str) -> bool:
    return ask_all(stack, name, rdtype) == [Answer("NOERROR", rdata)] * len(stack.nodes)


def test_a_team_s_new_zone_is_answered_with_its_set_and_follows_it_and_vanity_names_lead_to_nodes(
    stack: Stack, run: Run
) -> None:
    team = run_inside(stack, "people.make_team")
    vanity = {"name": "ns1.customer.test", "nodes": ["ns1"]}
    terms = {"name": "Customers", "team": team, "servers": [vanity, {"name": "ns.house.test"}], "default": True}
    made = run("api", "POST", "/name-server-sets", "--input", "-", input=json.dumps(terms))
    assert made.code == 0, made
    path = f"/name-server-sets/{made.json['id']}"
    created = run("zones", "create", "customer.test", "--team", str(team), "--wait")
    assert created.code == 0, created
    assert answers(stack, "customer.test", "NS", "ns.house.test.", "ns1.customer.test.")

    kept = run("api", "PUT", f"{path}/addresses/customer.test")
    assert kept.code == 0, kept
    [address] = kept.json["names"][0]["addresses"]
    until(
        lambda: answers(stack, "ns1.customer.test", "A", address),
        seconds=20,
        what="every node answers with the address of ns1",
    )

    servers = json.dumps([vanity, {"name": "ns2.house.test"}])
    assert run("api", "PATCH", path, "-F", f"servers={servers}").code == 0
    assert differences(run) == (["ns.house.test."], ["ns2.house.test."])
    assert run("templates", "run", "Customers", "--apply").code == 0
    until(
        lambda: answers(stack, "customer.test", "NS", "ns1.customer.test.", "ns2.house.test."),
        seconds=20,
        what="every node answers with the new set",
    )
    assert differences(run) == ([], [])


def differences(run: Run) -> tuple[list[str], list[str]]:
    """Return the name servers only in the zone, and those only in the set that the zone follows."""
    found = run("api", "GET", "/zones/customer.test/name-servers").json
    return found["more"], found["fewer"]
