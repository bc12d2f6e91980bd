"""Nodes and panels that have lost data recover without help, with all parts real."""

import shutil
import socket
import time

import dns.exception
import pytest

from dnspanel.demo.demo_nodes import DemoNode
from dnspanel.demo.stack import Stack
from tests.stack import ask, run_inside, until, wait_until_in_sync

pytestmark = pytest.mark.flow


def answer(node: DemoNode, name: str) -> str:
    """Return the address in the node's answer, the rcode if there is none, or "" if the node does not answer."""
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
    run_inside(stack, "bootstrap.publish", "+kept.test.=192.0.2.1", "+gone.test.=192.0.2.2")
    wait_until_in_sync(stack)

    # One node loses its disk and another is cut off, while the log grows and is pruned.
    stack.supervisor.stop([f"{lost.name}-agent", f"{lost.name}-pdns", f"{late.name}-agent"])
    for path in lost.pdns.glob("pdns.lmdb*"):
        path.unlink()
    run_inside(stack, "bootstrap.publish", "-gone.test.", "+new.test.=192.0.2.3")
    until(lambda: run_inside(stack, "bootstrap.encoded"), seconds=30, what="the edits in segments")
    assert run_inside(stack, "bootstrap.snapshot_and_prune") == 0
    run_inside(stack, "bootstrap.publish", "+after.test.=192.0.2.4")

    # The cut-off node continues to serve its content.
    assert answer(late, "gone.test.") == "192.0.2.2"

    stack.supervisor.start([f"{lost.name}-agent", f"{late.name}-agent"])
    wait_for_port(lost.agent_port)
    stack.supervisor.start([f"{lost.name}-pdns"])
    for node in (lost, late):
        wait_for_answer(node, "after.test.", "192.0.2.4")
        assert answer(node, "kept.test.") == "192.0.2.1"
        assert answer(node, "new.test.") == "192.0.2.3"
        assert answer(node, "gone.test.") == "REFUSED"
        assert "Full snapshot installed" in str(run_inside(stack, "bootstrap.events", node.name))
    wait_until_in_sync(stack)

    # The panel's own LMDB files are only a cache.
    stack.supervisor.stop(["publish"])
    shutil.rmtree(stack.directory / "panel" / "publisher")
    stack.supervisor.start(["publish"])
    run_inside(stack, "bootstrap.publish", "+again.test.=192.0.2.5", "-new.test.")
    for node in stack.nodes:
        wait_for_answer(node, "again.test.", "192.0.2.5")
        wait_for_answer(node, "new.test.", "REFUSED")
        assert answer(node, "gone.test.") == "REFUSED"
    wait_until_in_sync(stack)
    assert "the panel's LMDB of schema 4: equal" in stack.manage("audit")
