"""A front before the nodes of a whole panel: publications wait for it, and what is in sync comes out of dnsdist."""

import json
import threading
from collections import Counter
from pathlib import Path

import pytest

from dnspanel.demo.stack import Stack
from replication import verify
from tests.fronts import JoinedFront, joined_front
from tests.replication.agent.servers import short_directory
from tests.stack import make_person, run_script, until

pytestmark = pytest.mark.flow

ZONE, EDITS = "fronted.test.", 40

CREATE = """
import sys, django
django.setup()
from django.utils import timezone
from dnspanel.accounts.models import User
from dnspanel.zones.acting import Acting
from dnspanel.zones.publishing import edit
acting = Acting(User.objects.get(username="fiona"), "web", timezone.now())
edit.create_zone(zone=edit.NewZone(sys.argv[1]), acting=acting)
"""

# Publish an address, wait for every node, and say which of them have it.
PUBLISH = """
import json, sys, django
django.setup()
from django.utils import timezone
from dnspanel.accounts.models import User
from dnspanel.api.waiting import wait_for_nodes
from dnspanel.fleet.models import Ack
from dnspanel.zones.acting import Acting
from dnspanel.zones.publishing import zone_patches
from dnspanel.zones.models import Zone
from replication.dns import rdtypes
from replication.dns.rrset import make
zone, address = Zone.objects.get(name=sys.argv[1], deleted_at=None), sys.argv[2]
name = f"www.{zone.name}"
patch = zone_patches.Patch(zone, lambda current: {(name, rdtypes.A): make(name, rdtypes.A, 300, [address])}, {name})
acting = Acting(User.objects.get(username="fiona"), "api", timezone.now())
outcome = zone_patches.publish_patches(patches=[patch], acting=acting, confirmed=True)
is_everywhere = wait_for_nodes(outcome.publication, float(sys.argv[3]))
acks = Ack.objects.filter(epoch=outcome.publication.epoch, sequence__gte=outcome.publication.sequence)
print(json.dumps([is_everywhere, sorted(set(acks.filter(node__is_ring0=False).values_list("node__name", flat=True)))]))
"""

ACT = """
import sys, django
django.setup()
from django.utils import timezone
from dnspanel.fleet.nodes import enroll
act = getattr(enroll, sys.argv[1])
act(node=enroll.node_by_name(sys.argv[2]), now=timezone.now(), by=None)
"""


def publish(stack: Stack, address: str, seconds: float = 30) -> tuple[bool, list[str]]:
    everywhere, names = json.loads(run_script(stack, PUBLISH, ZONE, address, str(seconds)))
    return everywhere, names


def answer(front: JoinedFront) -> str:
    message = verify.ask("127.0.0.1", front.port, f"www.{ZONE}", 1, 5)
    found = [data.to_text() for rrset in message.answer for data in rrset]
    return found[0] if found else message.rcode().name


def test_publications_wait_for_a_front_which_then_answers_nothing_older_and_drained_nodes_leave_it(
    fresh_stack: Stack,
) -> None:
    stack = fresh_stack
    make_person(stack, "fiona")
    run_script(stack, CREATE, ZONE)
    names = [node.name for node in stack.nodes]
    terms = {"backends": dict.fromkeys(names, 1), "cache_entries": 10_000, "behind_seconds": 0.5}
    with short_directory() as directory, joined_front(stack, Path(directory), terms) as front:
        assert publish(stack, "192.0.2.1") == (True, sorted([*names, front.name]))
        stop, stale, counted, least = threading.Event(), Counter[str](), Counter[str](), [1]

        def load() -> None:
            while not stop.is_set():
                before = least[0]
                found = answer(front)
                counted["questions"] += 1
                if int(found.rpartition(".")[2]) < before:
                    stale[found] += 1

        threads = [threading.Thread(target=load) for _ in range(2)]
        for thread in threads:
            thread.start()
        try:
            for last in range(2, EDITS):
                everywhere, acked = publish(stack, f"192.0.2.{last}")
                assert everywhere, acked
                least[0] = last
        finally:
            stop.set()
            for thread in threads:
                thread.join()
        assert not stale
        assert counted["questions"] > EDITS

        run_script(stack, ACT, "drain", names[0])
        until(lambda: front.rotation() == names[1:], seconds=30, what="the drained node is out")
        assert publish(stack, "192.0.2.200")[0]
        assert {answer(front) for _ in range(40)} == {"192.0.2.200"}
        run_script(stack, ACT, "resume", names[0])
        until(lambda: front.rotation() == names, seconds=30, what="it comes back by itself")
        assert publish(stack, "192.0.2.201") == (True, sorted([*names, front.name]))
