"""A zone of a million records goes from one way of denial to another while Unbound validates what nodes answer.

What carries the changes is killed in the middle of them: the publisher, agents, the worker that pushes, name servers.
"""

import json
import random
import threading

import pytest

from dnspanel.demo.stack import Stack
from tests.flow.test_dnssec import act
from tests.flow.test_rollovers import Watch, kill_programs
from tests.stack import run_script, wait_until_in_sync
from tests.unbound import unbound

pytestmark = [pytest.mark.flow, pytest.mark.full(reason="a zone of a million records")]

ZONE = "signed.test."
RECORDS = 1_000_000
SECONDS = 600
# While one change is carried out: so many times, at most so many seconds apart.
KILLS = 3
APART = 8.0
DENIALS = [[0, "", False, False], [0, "", True, False], [0, "", False, True], None]

CREATE = """
import sys
import django
django.setup()
from django.utils import timezone
from dnspanel.zones.acting import Acting
from dnspanel.zones.publishing import edit
from replication.dns.rrset import RRset, make
name, records = sys.argv[1:]
rrsets = [make("www." + name, 1, 5, ["192.0.2.1"]), make("*.wild." + name, 16, 5, ['"wild"']),
    make("alias." + name, 5, 5, ["www." + name]),
    make(name, 6, 5, [f"ns.elsewhere.test. hostmaster.elsewhere.test. 1 10800 3600 604800 5"])]
rrsets += [RRset(f"n{number}.{name}", 1, 5, ("192.0.2.2",)) for number in range(int(records))]
edit.create_zones(zones=[edit.NewZone(name, rrsets)], acting=Acting(None, "import", timezone.now()))
"""


def test_no_answer_of_a_large_zone_is_bogus_while_its_denial_changes(fresh_stack: Stack) -> None:
    run_script(fresh_stack, CREATE, ZONE, str(RECORDS))
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
            act(fresh_stack, "denial", json.dumps(denial))
            for _ in range(KILLS):
                threading.Event().wait(chance.uniform(0, APART))
                killed += kill_programs(fresh_stack, len(killed) // 2, count=2)
            act(fresh_stack, "edit", f"n{number}.{ZONE}", f"192.0.2.{number + 10}")
            wait_until_in_sync(fresh_stack, seconds=SECONDS)
        assert resolver.bogus == []
    assert len(set(killed)) == 2 + 2 * len(fresh_stack.node_names), killed  # each of them at least once
    assert {rcode for rcode, _ in watch.replies} <= {"NOERROR", "NXDOMAIN"}, watch.replies
    assert sum(watch.replies.values()) > 1000
