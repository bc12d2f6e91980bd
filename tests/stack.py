"""A whole real stack for tests: processes, three PowerDNS nodes, sample zones; and the questions tests ask of it."""

import json
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import dns.message
import dns.query
import dns.rcode
import dns.rdatatype
import pytest

from dnspanel.demo.nodes import DemoNode
from dnspanel.demo.stack import Stack
from tests.workers import FOLDER

ROOT = Path(__file__).resolve().parent.parent

PASSWORD = "correct horse battery staple"

MAKE_PERSON = """
import sys, django
django.setup()
from django.utils import timezone
from dnspanel.accounts import invite
username, role, password = sys.argv[1:]
now = timezone.now()
secret = invite.make_invitation(role=role, by=None, now=now)
invite.accept_invitation(secret=secret, username=username, email=f"{username}@people.test", password=password, now=now)
"""

POSITIONS = """
import json, django
django.setup()
from dnspanel.fleet.models import Node
from dnspanel.zones.models import LogHead
nodes = dict(Node.objects.values_list("name", "acked"))
print(json.dumps({"head": LogHead.objects.get().sequence, "nodes": nodes}))
"""


@pytest.fixture(scope="session")
def stack() -> Iterator[Stack]:
    """One running stack with the sample zones and a trickle of queries, for all tests of a run."""
    with new_stack("stack", sample_zones=True, traffic=True) as running:
        yield running


@pytest.fixture
def fresh_stack() -> Iterator[Stack]:
    """A running stack for this test alone, without zones."""
    with new_stack("fresh-stack", sample_zones=False, traffic=False) as running:
        yield running


# As long as a busy machine may need to answer, and not as long as a person's patience.
PATIENCE = {"PANEL_RING0_PATIENCE": "20", "PANEL_REFUSAL_PATIENCE": "6"}


def new_stack(name: str, *, sample_zones: bool, traffic: bool, durable: bool = False) -> Stack:
    """A stack in a directory of its own, empty; it runs while it is entered."""
    directory = FOLDER / name
    shutil.rmtree(directory, ignore_errors=True)
    return Stack(directory, sample_zones=sample_zones, traffic=traffic, durable=durable, environment=PATIENCE)


@dataclass(frozen=True, slots=True)
class Answer:
    """What a node said: the code, and the rdata of the answer section in text form, sorted."""

    rcode: str
    rdata: tuple[str, ...]


def ask(node: DemoNode, name: str, rdtype: str = "A", *, timeout: float = 2.0) -> Answer:
    """Ask one node over UDP. Raises dns.exception.Timeout where it does not answer."""
    reply = dns.query.udp(dns.message.make_query(name, rdtype), "127.0.0.1", port=node.dns_port, timeout=timeout)
    wanted = dns.rdatatype.from_text(rdtype)
    found = sorted(str(rdata) for rrset in reply.answer if rrset.rdtype == wanted for rdata in rrset)
    return Answer(rcode=dns.rcode.to_text(reply.rcode()), rdata=tuple(found))


def ask_all(stack: Stack, name: str, rdtype: str = "A") -> list[Answer]:
    """What each node of the stack says, in the order of their names."""
    return [ask(node, name, rdtype) for node in stack.nodes]


def until(condition: Callable[[], bool], *, seconds: float, what: str) -> float:
    """Return how many seconds it took until the condition held. Raises TimeoutError naming `what`."""
    start = time.monotonic()
    while not condition():
        if time.monotonic() - start > seconds:
            raise TimeoutError(f"not within {seconds:g} s: {what}")
        time.sleep(0.01)
    return time.monotonic() - start


def make_person(stack: Stack, username: str, *, role: str = "administrator") -> str:
    """Make an account by the way of a real invitation; return its password."""
    stack.run([sys.executable, "-c", MAKE_PERSON, username, role, PASSWORD])
    return PASSWORD


def wait_until_in_sync(stack: Stack, *, seconds: float = 30) -> None:
    """Every node has acknowledged the head of the log. Raises TimeoutError."""

    def in_sync() -> bool:
        found = json.loads(stack.run([sys.executable, "-c", POSITIONS]))
        return bool(found["nodes"]) and all(acked == found["head"] for acked in found["nodes"].values())

    until(in_sync, seconds=seconds, what="every node at the head of the log")
