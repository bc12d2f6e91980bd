"""Rows 31 and 32: a restored PostgreSQL lacks changes that nodes already serve. Nothing is overwritten unasked."""

import contextlib
import shutil
import subprocess
import threading
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import dns.exception
import pytest

from dnspanel.demo import unprivileged
from dnspanel.demo.stack import PANEL, Stack
from replication.dns.rrset import Serial
from tests.faults import acts
from tests.faults.checker import is_at_head
from tests.faults.conftest import durable_stack
from tests.faults.panel import ActFailed, Panel
from tests.stack import ask, ask_all, until

pytestmark = pytest.mark.faults

KEPT, CHANGED, NEW = "kept.test.", "changed.test.", "new.test."
OF_PANEL = [name for name in PANEL if name != "proxy"]
HOLD_SECONDS = 120.0


class Serials:
    """Polls all nodes for the serials of some zones. Collects serials and refusals."""

    def __init__(self, stack: Stack, zones: tuple[str, ...]) -> None:
        self.stack, self.zones = stack, zones
        self.seen: dict[tuple[str, str], list[int]] = {}
        self.refused: list[str] = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> "Serials":
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._stop.set()
        self._thread.join(30)

    def fallen(self) -> list[str]:
        """Return the nodes and zones whose serial decreased."""
        return [
            f"{node} {zone}: {seen}"
            for (node, zone), seen in self.seen.items()
            if any(not Serial(one) < Serial(other) for one, other in pairwise(seen))
        ]

    def _run(self) -> None:
        while not self._stop.wait(0.05):
            for node in self.stack.nodes:
                for zone in self.zones:
                    with contextlib.suppress(dns.exception.DNSException, OSError):
                        self._look(node, zone)

    def _look(self, node: Any, zone: str) -> None:
        answer = ask(node, zone, "SOA")
        if answer.rcode != "NOERROR":
            self.refused.append(f"{node.name} {zone} {answer.rcode}")
            return
        seen = self.seen.setdefault((node.name, zone), [])
        serial = int(answer.rdata[0].split()[2])
        if not seen or seen[-1] != serial:
            seen.append(serial)


@pytest.fixture
def forked() -> Iterator[tuple[Stack, Panel]]:
    """Start a separate stack with two zones."""
    with durable_stack("faults-epochs") as stack, Panel(stack) as panel:
        for zone in (KEPT, CHANGED):
            panel.do(acts.create_zone, name=zone, values={f"www.{zone} TXT": '"before"'})
        wait_until_everywhere(panel)
        yield stack, panel


def wait_until_everywhere(panel: Panel, *, seconds: float = 120) -> None:
    def there() -> bool:
        found = panel.do(acts.positions)
        return all(is_at_head(found, name) for name in found["nodes"])

    until(there, seconds=seconds, what="every node at the head")


def work_that_is_lost(panel: Panel) -> None:
    """Publish changes that all nodes confirm, and that the restored PostgreSQL will lack."""
    for stamp in ('"one"', '"two"'):
        panel.do(acts.change, zone=CHANGED, values={f"www.{CHANGED} TXT": stamp})
    panel.do(acts.create_zone, name=NEW, values={f"www.{NEW} TXT": '"new"'})
    wait_until_everywhere(panel)


@contextlib.contextmanager
def panel_stopped(stack: Stack, panel: Panel) -> Iterator[None]:
    stack.supervisor.stop(OF_PANEL)
    panel.close()
    try:
        yield
    finally:
        stack.supervisor.start(OF_PANEL)


def texts(stack: Stack, zone: str) -> set[tuple[str, ...]]:
    return {answer.rdata for answer in ask_all(stack, f"www.{zone}", "TXT")}


def wait_until_on_hold(stack: Stack, panel: Panel) -> None:
    """Wait for the hold. Check that publishing fails, nodes keep answering, and the differences are listed."""
    until(lambda: bool(panel.do(acts.hold_reason)), seconds=HOLD_SECONDS, what="publishing held")
    with pytest.raises(ActFailed, match="PublishingOnHold"):
        panel.do(acts.change, zone=KEPT, values={f"www.{KEPT} TXT": '"no"'})
    assert texts(stack, CHANGED) == {('"two"',)}
    assert texts(stack, NEW) == {('"new"',)}
    until(
        lambda: set(panel.do(acts.known_to_nodes_only)) == {CHANGED, NEW}, seconds=120, what="the list of differences"
    )


def decide_and_go_on(panel: Panel, choice: str) -> None:
    before = panel.do(acts.positions)["epoch"]
    panel.do(acts.decide, choice=choice)
    until(lambda: not panel.do(acts.hold_reason), seconds=120, what="the decision carried out")
    wait_until_everywhere(panel, seconds=180)
    assert panel.do(acts.positions)["epoch"] != before
    panel.do(acts.change, zone=CHANGED, values={f"www.{CHANGED} TXT": '"after"'})
    wait_until_everywhere(panel)
    panel.do(acts.audit)


@pytest.mark.row(31)
def test_a_failover_that_lost_the_last_second_stops_publishing_until_a_person_decides(
    forked: tuple[Stack, Panel],
) -> None:
    stack, panel = forked
    cluster, kept = stack.directory / "postgres", stack.directory / "postgres-standby"
    stack.supervisor.stop(["postgres"])
    copy(cluster, kept)
    stack.supervisor.start(["postgres"])
    stack.stores.wait(seconds=60, logs=stack.supervisor.logs)
    with Serials(stack, (KEPT, CHANGED)) as serials:
        work_that_is_lost(panel)
        stack.supervisor.kill("postgres")  # the primary dies ...
        stack.supervisor.stop(["postgres"])
        shutil.rmtree(cluster)
        kept.rename(cluster)  # ... and the standby, which lacks the last second, replaces it
        stack.supervisor.start(["postgres"])
        stack.stores.wait(seconds=60, logs=stack.supervisor.logs)
        wait_until_on_hold(stack, panel)
        decide_and_go_on(panel, "take_over")
        assert texts(stack, CHANGED) == {('"after"',)}
        assert texts(stack, NEW) == {('"new"',)}
        time.sleep(0.5)
    assert serials.fallen() == []
    assert serials.refused == []


@pytest.mark.row(32)
def test_a_restored_backup_changes_no_answer_before_a_person_decides(forked: tuple[Stack, Panel]) -> None:
    stack, panel = forked
    archive = stack.directory / "backup" / "panel.tar"
    unprivileged.make_directory(archive.parent)
    stack.manage("backup", str(archive))
    with Serials(stack, (KEPT, CHANGED)) as serials:
        work_that_is_lost(panel)
        with panel_stopped(stack, panel):
            stack.manage("restore", "--replace", str(archive))
        wait_until_on_hold(stack, panel)
        decide_and_go_on(panel, "keep")
        assert texts(stack, CHANGED) == {('"after"',)}
        assert {answer.rcode for answer in ask_all(stack, NEW, "SOA")} == {"REFUSED"}
        time.sleep(0.5)
    assert serials.fallen() == []
    assert serials.refused == []


def copy(source: Path, target: Path) -> None:
    subprocess.run([*unprivileged.prefix(), "cp", "-a", str(source), str(target)], check=True)
