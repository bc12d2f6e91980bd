"""A zone of a million records changes its denial of existence while Unbound validates the nodes' answers.

The publisher, agents, the push worker and name servers are killed during the changes.
"""

import random
import threading

import pytest

from dnspanel.demo.stack import Stack
from tests.flow.test_dnssec import act
from tests.flow.test_rollovers import Watch, kill_programs
from tests.stack import run_inside, wait_until_in_sync
from tests.unbound import unbound

pytestmark = [pytest.mark.flow, pytest.mark.full(reason="a zone of a million records")]

ZONE = "signed.test."
RECORDS = 1_000_000
SECONDS = 600
# During a change: the number of kills, and the longest pause between them in seconds.
KILLS = 3
APART = 8.0
DENIALS = [[0, "", False, False], [0, "", True, False], [0, "", False, True], None]


def test_no_answer_of_a_large_zone_is_bogus_while_its_denial_changes(fresh_stack: Stack) -> None:
    run_inside(fresh_stack, "dnssec.create_large", ZONE, RECORDS)
    wait_until_in_sync(fresh_stack, seconds=SECONDS)
    [(dnskey, _, _)] = act(fresh_stack, "sign", "csk", "13")
    wait_until_in_sync(fresh_stack, seconds=SECONDS)
    chance, killed = random.Random(1), []
    ports = [node.dns_port for node in fresh_stack.nodes]
    with (
        unbound({ZONE: ports}, [f"{ZONE} DNSKEY {dnskey}"]) as resolver,
        Watch(resolver, ZONE, has_parent=False) as watch,
    ):
        for number, denial in enumerate(DENIALS):
            act(fresh_stack, "denial", denial)
            for _ in range(KILLS):
                threading.Event().wait(chance.uniform(0, APART))
                killed += kill_programs(fresh_stack, len(killed) // 2, count=2)
            act(fresh_stack, "edit", f"n{number}.{ZONE}", f"192.0.2.{number + 10}")
            wait_until_in_sync(fresh_stack, seconds=SECONDS)
        assert resolver.bogus == []
    assert len(set(killed)) == 2 + 2 * len(fresh_stack.node_names), killed  # each of them at least once
    assert {rcode for rcode, _ in watch.replies} <= {"NOERROR", "NXDOMAIN"}, watch.replies
    assert sum(watch.replies.values()) > 1000
