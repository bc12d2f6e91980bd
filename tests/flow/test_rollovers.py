"""Every kind of rollover on real nodes with a real parent zone, while Unbound validates through its caches, records are
edited, a node is cut off and comes back, and servers, agents and the publisher are killed: no answer is bogus, and
none is insecure too soon.

The rollover's clock runs `SPEED` times as fast, so that the minute that each wait is longer than TTLs passes in four
seconds; TTLs are so small that each wait still is longer than they really are.
"""

import json
import os
import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import dns.exception
import pytest

from dnspanel.demo.stack import Stack
from tests.stack import ask, run_script, until, wait_until_in_sync
from tests.unbound import Unbound, unbound

pytestmark = pytest.mark.flow

PARENT = "chain.test."
TTL = 2
SPEED = 15
SECONDS = 120
# Kind, whether keys are split, the algorithm before, and that after.
KINDS = [
    ("zsk", "split", 13, None),
    ("ksk", "split", 13, None),
    ("ksk-double-ds", "split", 13, None),
    ("csk", "csk", 13, None),
    ("algorithm", "csk", 8, 13),
    ("insecure", "csk", 13, None),
]

BEGIN = """
import json, sys
import django
django.setup()
from django.utils import timezone
from dnspanel.zones import direct, edit
from dnspanel.zones.dnssec import queries, sign
from dnspanel.zones.dnssec.guarded import Acting
from dnspanel.zones.models import Zone
from replication.dns import rdata
from replication.dns.rrset import make
parent, child, split, algorithm, ttl = sys.argv[1:]
now = timezone.now()
acting = Acting(author=None, channel="system", now=now)

def created(name, *more):
    soa = f"ns.{parent} hostmaster.{parent} 1 10800 3600 604800 {ttl}"
    rrsets = [("", "SOA", soa), ("", "NS", f"ns.{parent}"), *more]
    rrsets = [make((label + name), rdata.type_from_text(type), int(ttl), [text]) for label, type, text in rrsets]
    edit.create_zone(name=name, author=None, channel="system", now=now, rrsets=rrsets)
    return Zone.objects.get(name=name, deleted_at=None)

above = Zone.objects.filter(name=parent, deleted_at=None).first()
if above is None:
    above = created(parent, ("ns.", "A", "127.0.0.1"))
    sign.sign(zones=[above], acting=acting)
below = created(child, ("www.", "A", "192.0.2.1"), ("*.wild.", "TXT", '"wild"'), ("alias.", "CNAME", "www." + child))
sign.sign(zones=[below], acting=acting, split=split == "split", algorithm=int(algorithm))
ds = [text for key in queries.keys_of(below) for text in key.ds[:1]]
steps = [((child, type), direct.replaced(make(child, type, int(ttl), texts)))
    for type, texts in ((2, [f"ns.{parent}"]), (43, ds))]
direct.publish_patches(patches=[direct.patch_of_steps(above, steps)], author=None, channel="system", now=now)
print(json.dumps([key.dnskey for key in queries.keys_of(above)]))
"""

ROLL = """
import json, sys, time
import django
django.setup()
from django.utils import timezone
from dnspanel.fleet.dnssec import drive
from dnspanel.zones import direct
from dnspanel.zones.dnssec import queries, rollovers
from dnspanel.zones.dnssec.guarded import Acting
from dnspanel.zones.dnssec.rollover import Kind
from dnspanel.zones.models import Zone
from datetime import timedelta
from replication.dns.rrset import make
name, kind, algorithm, speed, seconds = sys.argv[1:]
began = timezone.now()
clock = lambda: began + (timezone.now() - began) * int(speed)
zone = Zone.objects.get(name=name, deleted_at=None)
acting = Acting(author=None, channel="system", now=clock())
row = rollovers.begin(zone=zone, kind=Kind(kind), acting=acting, algorithm=int(algorithm) or None)
steps, waited, until = [row.step], [], time.monotonic() + float(seconds)
number = 0
while row.ended_at is None and time.monotonic() < until:
    number += 1
    owner = f"n{number % 5}.{name}"
    step = direct.replaced(make(owner, 1, 2, [f"192.0.2.{number % 250 + 1}"]))
    direct.publish_patches(patches=[direct.patch_of_steps(zone, [((owner, 1), step)])], author=None, channel="system",
        now=timezone.now())
    drive.drive_rollovers(clock=clock, look_every=timedelta())
    row.refresh_from_db()
    if steps[-1] != row.step:
        steps.append(row.step)
    if not waited or waited[-1] != row.waits_for:
        waited.append(row.waits_for)
    time.sleep(0.25)
print(json.dumps({"ended": row.ended_at is not None, "steps": steps, "waited": waited, "edits": number,
    "keys": [key.dnskey for key in queries.keys_of(zone)]}))
"""


class Watch:
    """Asks Unbound for names of the zone from `with` on; `replies` counts by code and by whether they were secure.

    The DS of the apex, which only a parent zone answers, is asked where Unbound was told of one.
    """

    def __init__(self, resolver: Unbound, zone: str, *, has_parent: bool) -> None:
        self._resolver, self._zone = resolver, zone
        self._apex_types = ["A", "TXT", "SOA", "DNSKEY", *(["DS"] if has_parent else [])]
        self.replies: Counter[tuple[str, bool]] = Counter()
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> "Watch":
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._ends.set()
        self._thread.join()

    def _run(self) -> None:
        chance = random.Random(1)
        labels = ["www.", "alias.", "n1.", "n2.", "", "", "x.wild."]
        while not self._ends.is_set():
            name = chance.choice([*labels, f"r{chance.randrange(10**6)}.", f"r{chance.randrange(10**6)}.wild."])
            type = chance.choice(["A", "TXT", "MX"] if name else self._apex_types)
            try:
                reply = self._resolver.ask(name + self._zone, type)
            except dns.exception.Timeout:
                self.replies["timeout", False] += 1
            else:
                self.replies[reply.rcode, reply.is_secure] += 1
            self._ends.wait(0.02)


@contextmanager
def troubled(stack: Stack) -> Iterator[None]:
    """While inside, one agent after another is stopped for a while; agents, servers and the publisher are killed."""
    ends = threading.Event()

    def run() -> None:
        for turn in range(1000):
            node = stack.node_names[turn % len(stack.node_names)]
            agent = stack.supervisor.pid(f"{node}-agent")
            if agent:
                os.kill(agent, signal.SIGSTOP)  # cut off: its server answers with what it had
            stack.supervisor.kill("publish", signal.SIGKILL)
            ended = ends.wait(3)
            if agent:
                os.kill(agent, signal.SIGCONT)
            if ended or ends.wait(1):
                return
            other = stack.node_names[(turn + 1) % len(stack.node_names)]
            stack.supervisor.kill(f"{other}-{'agent' if turn % 2 else 'pdns'}", signal.SIGKILL)
            if ends.wait(3):
                return

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ends.set()
        thread.join()


def roll(stack: Stack, zone: str, kind: str, algorithm: int | None) -> dict[str, object]:
    """What became of the rollover, which was begun and driven to its end."""
    found: dict[str, object] = json.loads(
        run_script(stack, ROLL, zone, kind, str(algorithm or 0), str(SPEED), str(SECONDS))
    )
    return found


@contextmanager
def resolved(stack: Stack, zone: str, split: str, algorithm: int) -> Iterator[tuple[Unbound, Watch]]:
    """The zone is there, signed, with its DS at the parent, and somebody watches it through Unbound."""
    anchors: Sequence[str] = json.loads(run_script(stack, BEGIN, PARENT, zone, split, str(algorithm), str(TTL)))
    wait_until_in_sync(stack)
    ports = [node.dns_port for node in stack.nodes]
    with unbound({zone: ports, PARENT: ports}, [f"{PARENT} DNSKEY {anchor}" for anchor in anchors]) as resolver:
        for label in ("www.", "", "nothing."):
            assert resolver.ask(label + zone, "A").is_secure
        with Watch(resolver, zone, has_parent=True) as watch:
            yield resolver, watch


@pytest.mark.sample(1, reason="kinds of rollovers that Unbound watches")
@pytest.mark.parametrize(("kind", "split", "before", "after"), KINDS, ids=[kind[0] for kind in KINDS])
def test_nothing_is_bogus_during_a_rollover(
    stack: Stack, kind: str, split: str, before: int, after: int | None
) -> None:
    zone = f"{kind}.{PARENT}"
    with resolved(stack, zone, split, before) as (resolver, watch):
        old = {str(each) for each in ask(stack.nodes[0], zone, "DNSKEY").rdata}
        with troubled(stack):
            found = roll(stack, zone, kind, after)
        assert found["ended"], found
        wait_until_in_sync(stack)
        time.sleep(TTL)  # the watcher sees the end too
        assert resolver.bogus == []
    seen = watch.replies
    assert sum(seen.values()) > 200
    assert {rcode for rcode, _ in seen} <= {"NOERROR", "NXDOMAIN"}, seen
    for node in stack.nodes:
        now = {str(each) for each in ask(node, zone, "DNSKEY").rdata}
        assert len(now) == (0 if kind == "insecure" else len(old))
        assert len(now & old) == (1 if kind in ("zsk", "ksk", "ksk-double-ds") else 0)
    if kind != "insecure":
        assert not any(count for (_, is_secure), count in seen.items() if not is_secure), seen


def test_the_watcher_sees_what_is_bogus(stack: Stack) -> None:
    zone = f"watched.{PARENT}"
    with resolved(stack, zone, "csk", 13):
        [dnskey] = ask(stack.nodes[0], zone, "DNSKEY").rdata
    ports = [node.dns_port for node in stack.nodes]
    anchors = [f"{PARENT} DNSKEY {dnskey}"]  # which is another zone's
    with unbound({zone: ports, PARENT: ports}, anchors) as resolver, Watch(resolver, zone, has_parent=True) as watch:
        until(lambda: bool(resolver.bogus), seconds=20, what="a bogus answer")
    assert not any(is_secure for _, is_secure in watch.replies)
