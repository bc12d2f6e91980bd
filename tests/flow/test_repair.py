"""Altered content of a running node is found, described and repaired, only in the affected zone.

Uses real pdns_server and pdnsutil with the complete panel. Each test damages ns1 in another way, and waits until the
panel records the repair. All rows of other zones must be the same bytes before and after.
"""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import lmdb
import pytest

from dnspanel.demo.demo_nodes import DemoNode
from dnspanel.demo.stack import Stack
from tests.stack import ask, run_inside, until, wait_until_in_sync

pytestmark = pytest.mark.flow

ZONE = "test101.org."
# The limit in FAULTS.md.
SECONDS_TO_REPAIR = 60.0


def state(stack: Stack) -> dict[str, Any]:
    return run_inside(stack, "repair.state")


@pytest.fixture
def node(stack: Stack) -> DemoNode:
    wait_until_in_sync(stack)
    return stack.nodes[0]


@contextmanager
def table(path: str, name: bytes) -> Iterator[tuple[Any, Any]]:
    """Yield a cursor over one table of a node's file, and the transaction."""
    with lmdb.open(path, subdir=False, max_dbs=128, map_size=16_000 << 20, readonly=True) as env:
        handle = env.open_db(name, create=False)
        with env.begin() as txn, txn.cursor(db=handle) as cursor:
            yield cursor, txn


def records_of_others(node: DemoNode, zone_id: int) -> dict[bytes, bytes]:
    """Return all raw rows of other zones, without those that store the node's position."""
    ours = (zone_id.to_bytes(4, "big"), b"\x7f\xff\xff\xff")
    with table(f"{node.lmdb}-0", b"records") as (cursor, _):
        return {bytes(key): bytes(value) for key, value in cursor if not key.startswith(ours)}


def pdnsutil(node: DemoNode, *arguments: str) -> None:
    command = ["pdnsutil", f"--config-dir={node.pdns}", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def damage_and_wait(stack: Stack, node: DemoNode, damage: Callable[[int], None]) -> dict[str, Any]:
    """Damage the node, wait until the panel reports the repair, and return the panel's state."""
    before = state(stack)
    assert before["open"] == 0
    others = records_of_others(node, before["zone_id"])
    damage(before["zone_id"])
    began = time.monotonic()

    def is_over() -> bool:
        now = state(stack)
        found = now["found"][len(before["found"]) :]
        told = sum(": repaired (" in sentence for sentence in now["events"][len(before["events"]) :])
        return bool(found) and told >= len(found) and not now["open"] and now["equal"] is True

    until(is_over, seconds=SECONDS_TO_REPAIR, what="the node found, repaired and equal")
    sys.stdout.write(f"found and repaired {time.monotonic() - began:.1f} s after the damage was done\n")
    after = state(stack)
    after["found"] = after["found"][len(before["found"]) :]
    assert [error for *_, error in after["found"]] == [""] * len(after["found"])
    assert after["snapshots"] == 0, "one zone differed, so one zone is sent"
    assert records_of_others(node, before["zone_id"]) == others
    return after


def test_an_rrset_changed_by_hand(stack: Stack, node: DemoNode) -> None:
    wanted = ask(node, f"www.{ZONE}")
    after = damage_and_wait(
        stack, node, lambda _: pdnsutil(node, "replace-rrset", ZONE, "www", "A", "60", "192.0.2.66")
    )
    ((zone_id, name, words, _),) = after["found"]
    assert (zone_id, name) == (after["zone_id"], ZONE)
    assert "its records are not what the panel wrote" in words
    assert f"www.{ZONE} A was not what the panel wrote" in words
    assert any(ZONE in sentence and "repaired" in sentence for sentence in after["events"])
    assert ask(node, f"www.{ZONE}") == wanted


def test_an_rrset_deleted_by_hand(stack: Stack, node: DemoNode) -> None:
    wanted = ask(node, f"www.{ZONE}")
    after = damage_and_wait(stack, node, lambda _: pdnsutil(node, "delete-rrset", ZONE, "www", "A"))
    assert f"www.{ZONE} A was missing" in after["found"][0][2]
    assert ask(node, f"www.{ZONE}") == wanted


def test_a_zone_created_by_hand(stack: Stack, node: DemoNode) -> None:
    after = damage_and_wait(stack, node, lambda _: pdnsutil(node, "create-zone", "foreign.test", "ns1.foreign.test"))
    assert [(name, "created on the server" in words) for _, name, words, _ in after["found"]] == [
        ("foreign.test.", True)
    ]
    with table(str(node.lmdb), b"domains") as (cursor, _):
        assert not [value for value in cursor.iternext(keys=False) if b"foreign" in bytes(value)]


def test_a_zone_deleted_by_hand(stack: Stack, node: DemoNode) -> None:
    wanted = ask(node, f"www.{ZONE}")
    assert wanted.rcode == "NOERROR"
    after = damage_and_wait(stack, node, lambda _: pdnsutil(node, "delete-zone", ZONE))
    assert [name for _, name, _, _ in after["found"]] == [ZONE]
    assert "gone from the list of zones" in after["found"][0][2]
    assert ask(node, f"www.{ZONE}") == wanted


def test_metadata_added_by_hand(stack: Stack, node: DemoNode) -> None:
    after = damage_and_wait(stack, node, lambda _: pdnsutil(node, "set-meta", ZONE, "ALLOW-AXFR-FROM", "192.0.2.0/24"))
    assert "metadata was added on the server" in after["found"][0][2]


def test_a_flipped_bit_in_a_page(stack: Stack, node: DemoNode) -> None:
    wanted = ask(node, f"www.{ZONE}")

    def flip(zone_id: int) -> None:
        path = Path(f"{node.lmdb}-0")
        with table(str(path), b"records") as (cursor, _):
            assert cursor.set_key(zone_id.to_bytes(4, "big") + b"www\0\0\0\x01")
            row = bytes(cursor.key()) + bytes(cursor.value())
        content, at = path.read_bytes(), -1
        with path.open("r+b") as file:
            while (at := content.find(row, at + 1)) >= 0:  # a page stores key and value together
                last = at + len(row) - 8
                os.pwrite(file.fileno(), bytes((content[last] ^ 0x10,)), last)

    after = damage_and_wait(stack, node, flip)
    assert f"www.{ZONE} A was not what the panel wrote" in after["found"][0][2]
    assert ask(node, f"www.{ZONE}") == wanted


def test_a_publication_that_meets_altered_rows_gets_through_by_itself(stack: Stack, node: DemoNode) -> None:
    """The node refuses the segment, the panel repairs the zone at the node's position, and sends the segment again."""
    pdnsutil(node, "replace-rrset", ZONE, "@", "SOA", "3600", "ns1.foreign.test. x.foreign.test. 1 2 3 4 5")
    run_inside(stack, "repair.edit")
    until(lambda: ask(node, f"met.{ZONE}").rdata == ("192.0.2.77",), seconds=SECONDS_TO_REPAIR, what="the edit on ns1")
    until(lambda: state(stack)["equal"] is True and not state(stack)["open"], seconds=SECONDS_TO_REPAIR, what="equal")
    assert state(stack)["refusal"] == ""
