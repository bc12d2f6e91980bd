"""While Redis is stopped, killed, full or hanging, edits reach all nodes' answers through polling."""

import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
import redis

from dnspanel.demo.stack import Stack
from tests.faults import acts
from tests.faults.panel import Panel
from tests.stack import ask_all, until, wait_until_in_sync

pytestmark = pytest.mark.flow

ZONE = "lab.example."
# FAULTS.md allows 5 s; times four for a slow machine.
SECONDS = 5.0 * 4


@contextmanager
def stopped(stack: Stack) -> Iterator[None]:
    stack.supervisor.stop(["redis"])
    try:
        yield
    finally:
        stack.supervisor.start(["redis"])


@contextmanager
def hanging(stack: Stack) -> Iterator[None]:
    """Stop Redis inside the block, so that connections stay open without an answer."""
    stack.supervisor.kill("redis", signal.SIGSTOP)
    try:
        yield
    finally:
        stack.supervisor.kill("redis", signal.SIGCONT)


@contextmanager
def full(stack: Stack) -> Iterator[None]:
    with redis.Redis.from_url(stack.stores.redis_url, socket_timeout=5) as server:
        before = server.config_get("maxmemory")["maxmemory"]
        server.config_set("maxmemory", "1")
        try:
            yield
        finally:
            server.config_set("maxmemory", before)


@pytest.mark.parametrize("fault", [stopped, hanging, full])
def test_an_edit_reaches_the_answers_of_all_nodes(
    fault: Callable[[Stack], "contextmanager[None]"], stack: Stack
) -> None:
    wait_until_in_sync(stack)
    with Panel(stack) as panel:
        with fault(stack):
            for number in range(3):
                text = f'"{time.monotonic_ns()}"'
                panel.do(acts.change, zone=ZONE, values={f"polled.{ZONE} TXT": text})
                until(
                    lambda text=text: all(
                        answer.rdata == (text,) for answer in ask_all(stack, f"polled.{ZONE}", "TXT")
                    ),
                    seconds=SECONDS,
                    what=f"edit {number} at every node without Redis",
                )
        wait_until_in_sync(stack)
