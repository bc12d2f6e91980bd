"""Name server sets with a complete panel: all nodes' answers for zones of a team with a set."""

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
    team = str(run_inside(stack, "people.make_team"))
    made = run("name-servers", "create", "Customers", "ns1.customer.test,node:ns1", "ns.house.test", "--team", team)
    assert made.code == 0, made
    assert run("name-servers", "change", "Customers", "--default").code == 0
    created = run("zones", "create", "customer.test", "--team", team, "--wait")
    assert created.code == 0, created
    assert answers(stack, "customer.test", "NS", "ns.house.test.", "ns1.customer.test.")

    kept = run("name-servers", "keep", "Customers", "customer.test", "--output", "json")
    assert kept.code == 0, kept
    [address] = kept.json["names"][0]["addresses"]
    until(
        lambda: answers(stack, "ns1.customer.test", "A", address),
        seconds=20,
        what="every node answers with the address of ns1",
    )

    assert run("name-servers", "change", "Customers", "ns1.customer.test,node:ns1", "ns2.house.test").code == 0
    assert run("name-servers", "zone", "customer.test").code == 1
    assert run("templates", "run", "Customers", "--apply").code == 0
    until(
        lambda: answers(stack, "customer.test", "NS", "ns1.customer.test.", "ns2.house.test."),
        seconds=20,
        what="every node answers with the new set",
    )
    assert run("name-servers", "zone", "customer.test").code == 0
