"""A zone is signed, edited, switched between NSEC and NSEC3, and unsigned. Validators check all nodes' answers."""

import threading
from collections import Counter
from typing import Any

import pytest

from dnspanel.demo.stack import Stack
from tests.flow.validator import Validator
from tests.stack import ask, run_inside, until, wait_until_in_sync

pytestmark = pytest.mark.flow

ZONE = "signed.test."

RRSETS = [
    (f"www.{ZONE}", "A", "192.0.2.1"),
    (f"a.b.c.{ZONE}", "TXT", '"deep"'),
    (f"*.wild.{ZONE}", "A", "192.0.2.3"),
    (f"alias.{ZONE}", "CNAME", f"www.{ZONE}"),
    (f"sub.{ZONE}", "NS", "ns.elsewhere.test."),
    (f"safe.{ZONE}", "NS", f"ns.safe.{ZONE}"),
    (f"safe.{ZONE}", "DS", "12345 13 2 " + "ab" * 32),
    (f"ns.safe.{ZONE}", "A", "192.0.2.2"),
]
DENIALS = [[0, "", False, False], [0, "", True, False], None, [0, "", False, True], [1, "ab", False, False], None]
DENIALS += [[0, "", False, False], [1, "ab", False, False]]


def act(stack: Stack, what: str, *rest: Any) -> list[tuple[str, str, bool]]:
    return [tuple(key) for key in run_inside(stack, "dnssec.act", what, ZONE, *rest)]


@pytest.fixture(scope="module")
def zone(stack: Stack) -> str:
    act(stack, "create", RRSETS)
    wait_until_in_sync(stack)
    return ZONE


@pytest.mark.parametrize(("split", "algorithm"), [("csk", "13"), ("split", "8")])
def test_every_answer_validates_through_every_change(stack: Stack, zone: str, split: str, algorithm: str) -> None:
    act(stack, "sign", split, algorithm)
    wait_until_in_sync(stack)
    keys = [dnskey for dnskey, _, _ in act(stack, "look")]
    assert len(keys) == (2 if split == "split" else 1)
    watched = [name for name, _, _ in RRSETS] + [f"nothing.{ZONE}", f"x.wild.{ZONE}", f"b.c.{ZONE}", f"zz.{ZONE}"]
    watcher = Validator(stack.nodes, ZONE, keys, watched)
    with watcher:
        for number, denial in enumerate(DENIALS):
            act(stack, "denial", denial)
            act(stack, "edit", f"n{number}.{ZONE}", f"192.0.2.{number + 10}")
            wait_until_in_sync(stack)
        questions = watcher.questions
        until(lambda: watcher.questions > questions + len(watched) * 3, seconds=30, what="one more round")
    assert watcher.faults == [], Counter(fault.split(": ", 1)[1] for fault in watcher.faults)
    assert watcher.questions > 100
    act(stack, "ask-deletion")
    wait_until_in_sync(stack)
    for node in stack.nodes:
        found = {kind: list(ask(node, ZONE, kind).rdata) for kind in ("CDS", "CDNSKEY")}
        assert found == {"CDS": ["0 0 0 00"], "CDNSKEY": ["0 3 0 AA=="]}  # RFC 8078 section 4
    act(stack, "unsign")
    wait_until_in_sync(stack)
    assert threading.active_count() < 20
