"""Nodes and panels that lost what they had come back by themselves, with every part real."""

import shutil
import socket
import time

import dns.exception
import pytest

from dnspanel.demo.nodes import DemoNode
from dnspanel.demo.stack import Stack
from tests.stack import ask, run_script, until, wait_until_in_sync

pytestmark = pytest.mark.flow

# Publishes: `+name address` makes a zone whose apex has this address, `-name` deletes one.
PUBLISH = """
import sys, django
django.setup()
from django.utils import timezone
from dnspanel.zones.acting import Acting
from dnspanel.zones.publishing import edit
from dnspanel.zones.models import Zone
from replication.dns import rdtypes
from replication.dns.rrset import make
for act in sys.argv[1:]:
    name, _, address = act[1:].partition("=")
    if act[0] == "+":
        rrsets = [make(name, rdtypes.A, 300, [address])]
        edit.create_zone(zone=edit.NewZone(name, rrsets), acting=Acting(None, "system", timezone.now()))
    else:
        zone = Zone.objects.get(name=name, deleted_at=None)
        edit.delete_zone(zone=zone, author=None, channel="system", now=timezone.now())
"""

# What the beat does, as if every node had stayed away for longer than the log is kept.
SNAPSHOT_AND_PRUNE = """
import django
django.setup()
from django.utils import timezone
from dnspanel.publish.models import Segment
from dnspanel.publish.storage.prune import prune_log
from dnspanel.publish.files.snapshots import make_snapshot
assert make_snapshot(schema=4, now=timezone.now()) is not None
prune_log(needed={}, now=timezone.now())
print(Segment.objects.count())
"""

EVENTS = """
import sys, django
django.setup()
from dnspanel.fleet.models import NodeEvent
print(list(NodeEvent.objects.filter(node__name=sys.argv[1], kind="snapshot").values_list("sentence", flat=True)))
"""

ENCODED = """
import django
django.setup()
from dnspanel.publish.models import Segment, Stall
from dnspanel.zones.models import LogHead
head = LogHead.objects.get()
print(Segment.objects.filter(epoch=head.epoch, last=head.sequence).exists() and not Stall.objects.exists())
"""


def python(stack: Stack, script: str, *args: str) -> str:
    return run_script(stack, script, *args).strip()


def answer(node: DemoNode, name: str) -> str:
    """Return the address, or the code of an answer without one; nothing while it does not answer."""
    try:
        found = ask(node, name, timeout=1.0)
    except (dns.exception.Timeout, OSError):
        return ""
    return found.rdata[0] if found.rdata else found.rcode


def wait_for_answer(node: DemoNode, name: str, wanted: str, *, seconds: float = 60) -> float:
    return until(lambda: answer(node, name) == wanted, seconds=seconds, what=f"{name} {wanted} at {node.name}")


def wait_for_port(port: int, *, seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
        except OSError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.05)
        else:
            return


def test_lost_nodes_and_a_lost_panel_lmdb_come_back_by_themselves(fresh_stack: Stack) -> None:
    stack = fresh_stack
    lost, late, _ = stack.nodes
    python(stack, PUBLISH, "+kept.test.=192.0.2.1", "+gone.test.=192.0.2.2")
    wait_until_in_sync(stack)

    # One node loses its disk, another one is cut off; meanwhile the log moves on and is pruned.
    stack.supervisor.stop([f"{lost.name}-agent", f"{lost.name}-pdns", f"{late.name}-agent"])
    for path in lost.pdns.glob("pdns.lmdb*"):
        path.unlink()
    python(stack, PUBLISH, "-gone.test.", "+new.test.=192.0.2.3")
    until(lambda: python(stack, ENCODED) == "True", seconds=30, what="the edits in segments")
    assert python(stack, SNAPSHOT_AND_PRUNE) == "0"
    python(stack, PUBLISH, "+after.test.=192.0.2.4")

    # Whoever is cut off keeps answering what it has.
    assert answer(late, "gone.test.") == "192.0.2.2"

    stack.supervisor.start([f"{lost.name}-agent", f"{late.name}-agent"])
    wait_for_port(lost.agent_port)
    stack.supervisor.start([f"{lost.name}-pdns"])
    for node in (lost, late):
        wait_for_answer(node, "after.test.", "192.0.2.4")
        assert answer(node, "kept.test.") == "192.0.2.1"
        assert answer(node, "new.test.") == "192.0.2.3"
        assert answer(node, "gone.test.") == "REFUSED"
        assert "It has got a whole snapshot" in python(stack, EVENTS, node.name)
    wait_until_in_sync(stack)

    # The panel's own LMDB is a cache.
    stack.supervisor.stop(["publish"])
    shutil.rmtree(stack.directory / "panel" / "publisher")
    stack.supervisor.start(["publish"])
    python(stack, PUBLISH, "+again.test.=192.0.2.5", "-new.test.")
    for node in stack.nodes:
        wait_for_answer(node, "again.test.", "192.0.2.5")
        wait_for_answer(node, "new.test.", "REFUSED")
        assert answer(node, "gone.test.") == "REFUSED"
    wait_until_in_sync(stack)
    assert "the panel's LMDB of schema 4: equal" in stack.manage("audit")
