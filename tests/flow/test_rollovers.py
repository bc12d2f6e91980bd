"""All kinds of rollovers on real nodes with a real parent zone, while Unbound validates through its caches.

During each step records are edited, a node is cut off and returns, and servers, agents, publisher, push worker and
rollover process are killed. No answer is bogus, and none is insecure too early. The rollover's clock is `SPEED` times
as fast, and TTLs are short, so that waits still exceed TTLs.
"""

import os
import random
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import dns.exception
import pytest

from dnspanel.demo import unprivileged
from dnspanel.demo.stack import Stack
from tests.full import Sample
from tests.stack import ask, run_inside, until, wait_until_in_sync
from tests.unbound import Unbound, unbound

pytestmark = pytest.mark.flow

PARENT = "chain.test."
TTL = 2
SPEED = 15
SECONDS = 120
# Kind, split keys, and the algorithms before and after.
KINDS = [
    ("zsk", "split", 13, None),
    ("ksk", "split", 13, None),
    ("ksk-double-ds", "split", 13, None),
    ("csk", "csk", 13, None),
    ("algorithm", "csk", 8, 13),
    ("insecure", "csk", 13, None),
]
# The kinds on zones with NSEC3.
HASHED = ("ksk-double-ds", "csk", "zsk-back")
# Cancellations: kind, split keys, the step at which it is canceled, and the following steps.
WAYS_BACK = [
    ("zsk", "split", "sign", ["back", "undone"]),
    ("ksk", "split", "ds", ["withdraw", "undone"]),
    ("csk", "csk", "ds", ["withdraw", "undone"]),
]


class Watch:
    """Queries Unbound for the zone's names inside the block. `replies` counts rcodes, split into secure and insecure.

    With `has_parent`, also queries the DS at the apex, which only the parent zone answers.
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


@dataclass
class Killed:
    """The steps in order, and the programs killed at each step, with their process ids before and after."""

    steps: list[str] = field(default_factory=list)
    programs: list[dict[str, tuple[int, int]]] = field(default_factory=list)


@contextmanager
def killed_at_each_step(stack: Stack, folder: Path, count: int) -> Iterator[Killed]:
    """Kill `count` programs at each step that `ROLL` reports in the folder, before the step continues.

    The programs take turns: the publisher, an agent, the push worker and another node's server. A third node's agent is
    stopped during that time.
    """
    found, ends = Killed(), threading.Event()

    def run() -> None:
        while not ends.wait(0.02):
            report = folder / f"step{len(found.steps)}"
            if report.exists() and (step := report.read_text()):
                found.programs.append(kill_programs(stack, len(found.steps), count))
                unprivileged.write(folder / f"killed{len(found.steps)}", "")
                found.steps.append(step)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield found
    finally:
        ends.set()
        thread.join()


def kill_programs(stack: Stack, turn: int, count: int) -> dict[str, tuple[int, int]]:
    """Kill `count` programs and wait until they run again. Return each program's process ids before and after."""
    supervisor, names = stack.supervisor, stack.node_names
    one, other, cut_off = (names[(turn + n) % len(names)] for n in range(3))
    stopped = supervisor.kill(f"{cut_off}-agent", signal.SIGSTOP)  # cut off: its server answers with old content
    try:
        programs = ("publish", f"{one}-agent", "push", f"{other}-pdns")
        chosen = [programs[(turn * count + n) % len(programs)] for n in range(count)]
        killed = {name: supervisor.kill(name) for name in chosen}
        return {name: (pid, supervisor.wait_for_another(name, than=pid, seconds=30)) for name, pid in killed.items()}
    finally:
        os.kill(stopped, signal.SIGCONT)


def roll(
    stack: Stack, zone: str, kind: str, algorithm: int | None, folder: Path, *, cancelled_at: str = ""
) -> dict[str, Any]:
    """Run a rollover to its end, and return its result. The process reports each step in the folder.

    With `cancelled_at`, cancel the rollover at that step.
    """
    arguments = (zone, kind, algorithm or 0, SPEED, SECONDS, str(folder), cancelled_at)
    found: dict[str, Any] = run_inside(stack, "rollovers.roll", *arguments)
    return found


@contextmanager
def resolved(
    stack: Stack, zone: str, split: str, algorithm: int, *, denial: str = "nsec"
) -> Iterator[tuple[Unbound, Watch]]:
    """Create the signed zone with its DS at the parent, and poll it through Unbound inside the block."""
    anchors: Sequence[str] = run_inside(stack, "rollovers.begin", PARENT, zone, split, algorithm, TTL, denial)
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
    stack: Stack, kind: str, split: str, before: int, after: int | None, sample: Sample
) -> None:
    count = sample.few(2, 4, reason="programs that are killed at each step of a rollover")
    zone, folder = f"{kind}.{PARENT}", stack.directory / f"steps-{kind}"
    unprivileged.make_directory(folder)
    with resolved(stack, zone, split, before, denial=denial_of(kind)) as (resolver, watch):
        old = {str(each) for each in ask(stack.nodes[0], zone, "DNSKEY").rdata}
        with killed_at_each_step(stack, folder, count) as killed:
            found = roll(stack, zone, kind, after, folder)
        assert found["ended"], found
        all_were_killed(killed, found, count)
        wait_until_in_sync(stack)
        time.sleep(TTL)  # lets the watcher see the end, too
        bogus = resolver.bogus
    seen = watch.replies
    tell(kind, seen, bogus)
    assert bogus == []
    assert sum(seen.values()) > 200
    assert {rcode for rcode, _ in seen} <= {"NOERROR", "NXDOMAIN"}, seen
    for node in stack.nodes:
        now = {str(each) for each in ask(node, zone, "DNSKEY").rdata}
        assert len(now) == (0 if kind == "insecure" else len(old))
        assert len(now & old) == (1 if kind in ("zsk", "ksk", "ksk-double-ds") else 0)
    if kind != "insecure":
        assert not any(count for (_, is_secure), count in seen.items() if not is_secure), seen


@pytest.mark.full(reason="ways back of rollovers that Unbound watches")
@pytest.mark.parametrize(("kind", "split", "cancelled_at", "way"), WAYS_BACK, ids=[way[0] for way in WAYS_BACK])
def test_nothing_is_bogus_on_the_way_back(
    stack: Stack, kind: str, split: str, cancelled_at: str, way: list[str]
) -> None:
    zone, folder = f"{kind}-back.{PARENT}", stack.directory / f"steps-{kind}-back"
    unprivileged.make_directory(folder)
    with resolved(stack, zone, split, 13, denial=denial_of(f"{kind}-back")) as (resolver, watch):
        old = {str(each) for each in ask(stack.nodes[0], zone, "DNSKEY").rdata}
        with killed_at_each_step(stack, folder, 4) as killed:
            found = roll(stack, zone, kind, None, folder, cancelled_at=cancelled_at)
        assert (found["ended"], found["cancelled"]) == (True, True), found
        assert found["steps"][-len(way) - 1 :] == [cancelled_at, *way]
        all_were_killed(killed, found, 4)
        wait_until_in_sync(stack)
        time.sleep(TTL)  # lets the watcher see the end, too
        bogus = resolver.bogus
    tell(f"{kind}, back", watch.replies, bogus)
    assert bogus == []
    assert {rcode for rcode, _ in watch.replies} <= {"NOERROR", "NXDOMAIN"}, watch.replies
    assert all(is_secure for _, is_secure in watch.replies), watch.replies
    for node in stack.nodes:
        assert {str(each) for each in ask(node, zone, "DNSKEY").rdata} == old


def test_a_ds_changed_at_the_parent_from_outside_is_seen_told_and_waited_for_anew(stack: Stack) -> None:
    zone = f"outside.{PARENT}"
    with resolved(stack, zone, "csk", 13) as (resolver, watch):
        before = {str(each) for each in ask(stack.nodes[0], zone, "DNSKEY").rdata}
        found = run_inside(stack, "rollovers.roll_from_outside", zone, PARENT, SPEED, TTL, SECONDS)
        wait_until_in_sync(stack)
        time.sleep(TTL)  # lets the watcher see the end, too
        bogus = resolver.bogus
    tell("DS changed from outside", watch.replies, bogus)
    for look in found["looks"]:
        sys.stdout.write(f"{look[0] - found['looks'][0][0]:7.1f} s {look[1]}: {look[2]}\n")
    step, waits_for, is_stuck, add, remove = found["seen"]
    assert (step, is_stuck) == ("ds", True)
    assert f"You don’t have permission to change DS {zone} in {PARENT}" in waits_for
    assert found["new"][0] in add
    assert found["old"][0] in remove
    # The predicted time is over, and nothing has happened.
    assert found["waited"] == [step, waits_for]
    assert found["left"] - found["again"] >= 60 + TTL
    assert found["cancelled"] is False
    assert bogus == []
    assert all(is_secure for _, is_secure in watch.replies), watch.replies
    assert not before & {str(each) for each in ask(stack.nodes[0], zone, "DNSKEY").rdata}


def tell(kind: str, seen: Counter[tuple[str, bool]], bogus: Sequence[str]) -> None:
    insecure = sum(count for (_, is_secure), count in seen.items() if not is_secure)
    sys.stdout.write(f"{kind}: {sum(seen.values())} answers, {len(bogus)} bogus, {insecure} insecure\n")


def denial_of(name: str) -> str:
    return "nsec3" if name in HASHED else "nsec"


def all_were_killed(killed: Killed, found: dict[str, Any], count: int) -> None:
    """Check that `count` programs and the rollover's process were killed at each step."""
    assert killed.steps == found["steps"]
    assert all(len(pids) == count and all(was != is_now for was, is_now in pids.values()) for pids in killed.programs)
    assert found["killed_drivers"] == [[step, signal.SIGKILL] for step in found["steps"]]


def test_the_watcher_sees_what_is_bogus(stack: Stack) -> None:
    zone = f"watched.{PARENT}"
    with resolved(stack, zone, "csk", 13):
        [dnskey] = ask(stack.nodes[0], zone, "DNSKEY").rdata
    ports = [node.dns_port for node in stack.nodes]
    anchors = [f"{PARENT} DNSKEY {dnskey}"]  # another zone's anchor
    with unbound({zone: ports, PARENT: ports}, anchors) as resolver, Watch(resolver, zone, has_parent=True) as watch:
        until(lambda: bool(resolver.bogus), seconds=20, what="a bogus answer")
    assert not any(is_secure for _, is_secure in watch.replies)
