"""A dnsdist front before the nodes of a complete panel: publications wait for it, and it serves them when in sync."""

import threading
from collections import Counter
from pathlib import Path

import pytest

from dnspanel.demo.stack import Stack
from replication import verify
from tests.fronts import JoinedFront, joined_front
from tests.replication.agent.servers import short_directory
from tests.stack import make_person, run_inside, until

pytestmark = pytest.mark.flow

ZONE, EDITS = "fronted.test.", 40


def publish(stack: Stack, address: str, seconds: float = 30) -> tuple[bool, list[str]]:
    everywhere, names = run_inside(stack, "fronts.publish", ZONE, address, seconds)
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
    run_inside(stack, "fronts.create", ZONE)
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

        run_inside(stack, "fronts.act", "drain", names[0])
        until(lambda: front.rotation() == names[1:], seconds=30, what="the drained node is out")
        assert publish(stack, "192.0.2.200")[0]
        assert {answer(front) for _ in range(40)} == {"192.0.2.200"}
        run_inside(stack, "fronts.act", "resume", names[0])
        until(lambda: front.rotation() == names, seconds=30, what="it comes back by itself")
        assert publish(stack, "192.0.2.201") == (True, sorted([*names, front.name]))
