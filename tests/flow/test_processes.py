"""Stops each panel process: alert, page and metric report it, and its watchdog kills it, so that it is restarted.

Tests `processes.workers`, `processes.clock`, `processes.roll_call`, `monitoring.proxy_probe` and `dnspanel.web_server`.
"""

import signal

import psycopg
import pytest

from dnspanel.demo.stack import Stack
from dnspanel.fleet.nodes.heartbeats import WATCH_SINCE
from dnspanel.fleet.processes.process_roles import BUSY_FOR, NAMES
from dnspanel.fleet.processes.state import STABLE_AFTER
from tests.named_faults import Operator, key_of, places_of, wait_until_named, works
from tests.stack import until, wait_until_in_sync

pytestmark = pytest.mark.flow

# The product's limit is 60 s; a busy machine may take longer.
NAMED_SECONDS = 90
# The watchdog kills after 45 s, a worker's start takes some time, and alerts end a minute later.
BACK_SECONDS = 240


@pytest.fixture(scope="module")
def operator(stack: Stack) -> Operator:
    wait_until_in_sync(stack)
    operator = Operator(stack)
    until(lambda: all(works(operator, name) for name in NAMES), seconds=180, what="life signs of every process")

    def is_watched() -> bool:  # until then, a silent process may still be starting
        with psycopg.connect(stack.stores.database_url) as connection:
            found = connection.execute("SELECT now() - at FROM fleet_heartbeat WHERE process = %s", [WATCH_SINCE])
            return any(since > STABLE_AFTER for (since,) in found)

    until(is_watched, seconds=180, what="processes that were watched for some time")
    return operator


@pytest.mark.sample(1, reason="processes that are stopped")
@pytest.mark.parametrize("name", NAMES)
def test_a_process_that_is_stopped_is_named_everywhere_and_started_again(
    stack: Stack, operator: Operator, name: str
) -> None:
    stopped = stack.supervisor.kill(name, signal.SIGSTOP)
    named = wait_until_named(places_of(operator, name), seconds=NAMED_SECONDS)
    assert named.seconds.keys() == {"alert", "page", "metric"}, named.seconds
    assert stack.supervisor.wait_for_another(name, than=stopped, seconds=BACK_SECONDS) != stopped
    until(
        lambda: works(operator, name) and key_of(name) not in operator.alerts(),
        seconds=BACK_SECONDS,
        what=f"{name} at work again, and its alert over",
    )


def test_every_queue_answers_the_roll_call_and_periodic_work_is_written_down(stack: Stack, operator: Operator) -> None:
    def is_written() -> bool:
        found = operator.metrics()
        answered = all(("dnspanel_queue_answer_timestamp_seconds", queue) in found for queue in BUSY_FOR)
        return answered and ("dnspanel_periodic_last_success_timestamp_seconds", "encode-log") in found

    until(is_written, seconds=60, what="answers of every queue, and when the log was encoded")
    assert "encoding publications" in operator.page("/fleet/processes/")


def test_an_orderly_stop_says_goodbye(stack: Stack, operator: Operator) -> None:
    with psycopg.connect(stack.stores.database_url, autocommit=True) as connection:

        def rows(name: str) -> int:
            found = connection.execute("SELECT count(*) FROM fleet_panelprocess WHERE name = %s", [name]).fetchone()
            return int(found[0]) if found else 0

        stack.supervisor.stop(["update", "sources", "beat"])
        try:
            assert [rows(name) for name in ("update", "sources", "beat")] == [0, 0, 0]
        finally:
            stack.supervisor.start(["update", "sources", "beat"])
        for name in ("update", "sources", "beat"):
            until(lambda name=name: rows(name) == 1, seconds=120, what=f"a life sign of {name}")  # type: ignore[misc]
