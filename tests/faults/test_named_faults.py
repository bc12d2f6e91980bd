"""Each process and store is stopped, killed or full. Measures how soon an alert, a page and a metric name the fault.

The table is printed and stored as `named-faults.md` in the run's folder. An empty cell means that nothing names it.
"""

import contextlib
import os
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import psutil
import psycopg
import pytest

from dnspanel.demo.stack import Stack, StackError
from dnspanel.fleet.processes.process_roles import NAMES
from tests.faults.disk import Disk
from tests.faults.test_brokers import no_memory
from tests.mailserver import MailServer
from tests.named_faults import Operator, key_of, places_of, wait_until_named, works
from tests.stack import new_stack, run_inside, until
from tests.workers import FOLDER

pytestmark = [
    pytest.mark.faults,
    pytest.mark.usefixtures("root"),
    pytest.mark.full(reason="the table of faults and what names them"),
]

# The product's limit is 60 s; test machines may be busy.
NAMED_SECONDS = 120
BACK_SECONDS = 300
COLUMNS = ("alert", "page", "metric")
# Processes that are stopped together, because none of them detects another's failure.
TOGETHER = (
    ("publish", "push", "bootstrap", "sources", "bulk", "system", "update"),
    ("beat",),
    ("collector",),
    ("web",),
    ("proxy",),
)
Places = Mapping[str, Callable[[], bool]]


@dataclass(slots=True)
class Table:
    """The results for each fault: a row's texts, and the seconds by column."""

    rows: list[tuple[str, Mapping[str, str], Mapping[str, float]]] = field(default_factory=list)

    def text(self) -> str:
        head = ["| Fault | Alert | after | Page | after | Metric | after |", "|---|---|---|---|---|---|---|"]
        return "\n".join(head + [self._line(*row) for row in self.rows]) + "\n"

    def empty(self) -> list[str]:
        return [f"{fault}: {column}" for fault, _, found in self.rows for column in COLUMNS if column not in found]

    def _line(self, fault: str, words: Mapping[str, str], found: Mapping[str, float]) -> str:
        cells = [
            cell for column in COLUMNS for cell in (words[column], f"{found[column]:.0f} s" if column in found else "")
        ]
        return f"| {fault} | {' | '.join(cells)} |"


@dataclass(frozen=True, slots=True)
class Watched:
    """A stack with its operator, mail server, disk and result table."""

    stack: Stack
    operator: Operator
    mails: MailServer
    disk: Disk
    table: Table

    def measure(self, faults: Mapping[str, Places], words: Mapping[str, Mapping[str, str]]) -> None:
        """Wait until all places name these faults, which begin now. Add the results to the table."""
        everything = {f"{fault}\n{place}": look for fault, places in faults.items() for place, look in places.items()}
        named = wait_until_named(everything, seconds=NAMED_SECONDS)
        for fault in faults:
            found = {key.partition("\n")[2]: at for key, at in named.seconds.items() if key.startswith(f"{fault}\n")}
            self.table.rows.append((fault, words[fault], found))

    def settle(self, names: Sequence[str]) -> None:
        """Wait until these processes work and no alert reports otherwise."""

        def is_well() -> bool:
            return all(works(self.operator, name) for name in names) and not (
                {key_of(name) for name in names} & self.operator.alerts()
            )

        until(is_well, seconds=BACK_SECONDS, what=lambda: f"{', '.join(names)} at work: {self.operator.alerts()}")


@pytest.fixture(scope="module")
def watched() -> Iterator[Watched]:
    table = Table()
    with MailServer() as mails, pytest.MonkeyPatch.context() as patch:
        patch.setenv("PANEL_MAIL_HOST", "127.0.0.1")
        patch.setenv("PANEL_MAIL_PORT", str(mails.port))
        patch.setenv("PANEL_MAIL_TLS", "no")
        stack = new_stack("named-faults", sample_zones=False, traffic=False)
        with Disk(stack.directory.with_name("named-faults-disk"), mib=256) as disk:
            move_var(stack, disk)
            with stack:
                run_inside(stack, "alerts.make_route")
                made = Watched(stack, Operator(stack), mails, disk, table)
                made.settle(NAMES)
                yield made
    (FOLDER / "named-faults.md").write_text(table.text())


def move_var(stack: Stack, disk: Disk) -> None:
    """Move the panel's data directory to this disk."""
    var = stack.directory / "panel"
    subprocess.run(["cp", "-a", str(var), str(disk.path / "panel")], check=True)
    shutil.rmtree(var)
    var.symlink_to(disk.path / "panel")


@contextlib.contextmanager
def paused(stack: Stack, name: str) -> Iterator[None]:
    """Stop the process and its children with SIGSTOP. At the end, continue those that still exist."""
    pid = stack.supervisor.pid(name)
    assert pid is not None
    together = [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]
    for each in together:
        with contextlib.suppress(psutil.NoSuchProcess):
            each.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        for each in together:
            with contextlib.suppress(psutil.NoSuchProcess):
                each.send_signal(signal.SIGCONT)


def kill_for_good(stack: Stack, name: str) -> None:
    """Kill the process with SIGKILL, and prevent a restart by its supervisor."""
    pid = stack.supervisor.kill(name, signal.SIGSTOP)  # so that it ignores the supervisor's signal
    killing = threading.Timer(1, os.kill, (pid, signal.SIGKILL))
    killing.start()
    stack.supervisor.stop([name])
    killing.join()


def of_process(watched: Watched, name: str, *, is_gone: bool) -> tuple[Places, dict[str, str]]:
    """Return the places that report the missing process, and their texts.

    Without the web server, no page can report it.
    """
    operator = watched.operator
    places = places_of(operator, name)
    words = {
        "alert": key_of(name),
        "page": "Nodes → Processes",
        "metric": f"dnspanel_process_instances{{process={name}}} = 0",
    }
    if name in {"web", "proxy"} and not is_gone:
        # Pages answer again after the watchdog's restart, and then report the event.
        places["page"] = lambda: f"No process {name}" in operator.page("/alerts/")
        places["metric"] = lambda: operator.metrics().get(("dnspanel_alerts_open", "panel.process", "critical"), 0) > 0
        words |= {"page": "Nodes → Alerts", "metric": "dnspanel_alerts_open{kind=panel.process}"}
    if is_gone and name in {"web", "proxy"}:
        places["page"] = lambda: not operator.page("/fleet/processes/").startswith("200 ")
        places["metric"] = lambda: not operator.metrics()
        words |= {"page": "every page (an error)", "metric": "up = 0"}
    return places, words


def stop_processes(watched: Watched, names: Sequence[str]) -> None:
    watched.settle(names)
    faults = {name: of_process(watched, name, is_gone=False) for name in names}
    for name in names:
        watched.stack.supervisor.kill(name, signal.SIGSTOP)
    watched.measure(
        {f"{name} stopped": places for name, (places, _) in faults.items()},
        {f"{name} stopped": words for name, (_, words) in faults.items()},
    )
    watched.settle(names)  # killed by the watchdog, and restarted by the supervisor


def kill_processes(watched: Watched, names: Sequence[str]) -> None:
    watched.settle(names)
    faults = {name: of_process(watched, name, is_gone=True) for name in names}
    for name in names:
        kill_for_good(watched.stack, name)
    try:
        watched.measure(
            {f"{name} killed": places for name, (places, _) in faults.items()},
            {f"{name} killed": words for name, (_, words) in faults.items()},
        )
    finally:
        watched.stack.supervisor.start(names)
    watched.settle(names)


def lose_postgresql(watched: Watched, fault: str) -> None:
    watched.settle(NAMES)
    operator, began = watched.operator, time.time()
    watch = ("dnspanel_heartbeat_timestamp_seconds", "watch")
    # Two outages without a check in between count as one, and are reported once.
    until(lambda: operator.metrics().get(watch, 0) > began, seconds=BACK_SECONDS, what="a look for alerts")
    before = len(watched.mails.mails)
    places = {
        "alert": lambda: any("PostgreSQL hasn’t responded" in mail.text for mail in watched.mails.mails[before:]),
        "page": lambda: not operator.page("/nodes/").startswith("200 "),
        "metric": lambda: not operator.metrics(),
    }
    words = {"alert": "panel.postgresql (by mail)", "page": "every page (an error)", "metric": "up = 0"}
    name = f"PostgreSQL {fault}"
    with during(watched.stack, "postgres", fault):
        watched.measure({name: places}, {name: words})
    watched.settle(NAMES)


def lose_redis(watched: Watched, fault: str) -> None:
    watched.settle(NAMES)
    operator = watched.operator
    until(lambda: "panel.redis" not in operator.alerts(), seconds=BACK_SECONDS, what="no alert of Redis")
    places = {
        "alert": lambda: "panel.redis" in operator.alerts(),
        "page": lambda: "Redis" in operator.page("/alerts/"),
        "metric": lambda: operator.metrics().get(("dnspanel_redis_up",)) == 0,
    }
    words = {"alert": "panel.redis", "page": "Nodes → Alerts", "metric": "dnspanel_redis_up = 0"}
    name = f"Redis {fault}"
    with no_memory(watched.stack) if fault == "full" else during(watched.stack, "redis", fault):
        watched.measure({name: places}, {name: words})
    watched.settle(NAMES)


@contextlib.contextmanager
def during(stack: Stack, store: str, fault: str) -> Iterator[None]:
    if fault == "stopped":
        with paused(stack, store):
            yield
        return
    kill_for_good(stack, store)
    try:
        yield
    finally:
        stack.supervisor.start([store])
        stack.stores.wait(seconds=60, logs=stack.supervisor.logs)


def fill_inodes(directory: Path) -> None:
    """Create empty files until the file system has no free inode."""
    directory.mkdir()
    with contextlib.suppress(OSError):
        for number in range(1_000_000):
            (directory / str(number)).touch()


def fill_disk(watched: Watched, fault: str) -> None:
    operator, ballast = watched.operator, watched.disk.path / "many"
    until(lambda: "panel.disk" not in operator.alerts(), seconds=BACK_SECONDS, what="no alert of the disk")
    unit = "bytes" if fault == "no bytes" else "inodes"

    def share() -> float:
        found = operator.metrics()
        total = found.get((f"dnspanel_disk_{unit}",), 0)
        return found.get((f"dnspanel_disk_free_{unit}",), 0) / total if total else 1

    places = {
        "alert": lambda: "panel.disk" in operator.alerts(),
        "page": lambda: "disk has" in operator.page("/alerts/"),
        "metric": lambda: share() < 0.1,
    }
    words = {"alert": "panel.disk", "page": "Nodes → Alerts", "metric": f"dnspanel_disk_free_{unit}"}
    name = f"the panel's disk full: {fault}"
    fill = watched.disk.fill if fault == "no bytes" else partial(fill_inodes, ballast)
    fill()
    try:
        watched.measure({name: places}, {name: words})
    finally:
        watched.disk.free()
        shutil.rmtree(ballast, ignore_errors=True)


Step = Callable[[], None]


def steps(watched: Watched) -> Iterator[tuple[str, Step]]:
    """Yield each fault as a step. If one fails, the others still run."""
    for names in TOGETHER:
        yield f"stop {', '.join(names)}", partial(stop_processes, watched, names)
    for names in TOGETHER:
        yield f"kill {', '.join(names)}", partial(kill_processes, watched, names)
    for fault in ("stopped", "killed", "full"):
        yield f"Redis {fault}", partial(lose_redis, watched, fault)
    for fault in ("no bytes", "no inodes"):
        yield f"disk {fault}", partial(fill_disk, watched, fault)
    for fault in ("stopped", "killed"):
        yield f"PostgreSQL {fault}", partial(lose_postgresql, watched, fault)


def test_every_fault_is_named_by_an_alert_a_page_and_a_metric(
    watched: Watched, capsys: pytest.CaptureFixture[str]
) -> None:
    troubles = []
    for name, step in steps(watched):
        try:
            step()
        except (TimeoutError, OSError, StackError, psycopg.Error, subprocess.CalledProcessError) as exc:
            troubles.append(f"{name}: {exc}")
    with capsys.disabled():
        print(f"\n{watched.table.text()}")  # noqa: T201
    assert watched.table.empty() == []
    assert troubles == []
