"""Name servers on loopback with the same zones in LMDB and in PostgreSQL, queried by dnsperf.

The zones are those of a published comparison of PowerDNS backends: `test<N>.org.`, each with SOA, one NS and `www` with
two addresses. 40 % of the questions are for nonexistent names. Each such name occurs only once.
"""

import contextlib
import os
import random
import re
import statistics
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import psutil
import psycopg

from replication.dns import rdtypes
from replication.dns.rrset import RRset
from tests.benchmarks import answers
from tests.benchmarks.powerdns_tables import Tables
from tests.benchmarks.say import say
from tests.replication.panel import Panel

START_SECONDS = 30
NAME_SERVER = "ns1.test1.org."
POLL_SECONDS = 0.02
RATE = 20_000  # a fourth of what a server here can answer, so that none falls behind or loses questions
RANDOM_SHARE = 0.4
# Questions in one file: more than any server here answers in one measurement, so that no random name repeats.
QUESTIONS = 700_000
# The kernel assigns each client's socket to one receiver thread. With few clients, one receiver could be half idle.
CLIENTS = 64
# The cores for `Server.running` and `dnsperf`: one for the server, and one for the load generator.
SERVER_CORE, CLIENT_CORE = max(os.sched_getaffinity(0)), min(os.sched_getaffinity(0))
T = TypeVar("T")
_TEXT: dict[str, Any] = {"stdout": subprocess.PIPE, "text": True}
DOMAIN_COLUMNS = ("id", "name", "type")
RECORD_COLUMNS = ("domain_id", "name", "type", "content", "ttl", "prio", "disabled", "ordername", "auth")
CACHES_OFF = {"cache-ttl": "0", "query-cache-ttl": "0", "negquery-cache-ttl": "0"}


@dataclass(frozen=True, slots=True)
class Figures:
    """One measurement: answers per second, the server's processor time per answer (µs), and unanswered questions."""

    qps: float
    cpu_us: float
    lost: int


def zone_name(number: int) -> str:
    return f"test{number}.org."


def zone_rrsets(number: int) -> list[RRset]:
    name = zone_name(number)
    return [
        RRset(name, rdtypes.SOA, 3600, (f"a.invalid. hostmaster.{name} 1 10800 3600 604800 3600",)),
        RRset(name, rdtypes.NS, 3600, (NAME_SERVER,)),
        RRset("www." + name, rdtypes.A, 3600, ("1.1.1.1", "42.42.42.42")),
        # BIND does not load a zone if a name server within it has no address.
        *([RRset(NAME_SERVER, rdtypes.A, 3600, ("192.0.2.53",))] if NAME_SERVER.endswith("." + name) else []),
    ]


def write_lmdb(directory: Path, zones: int) -> Panel:
    """Write the zones into `directory`/panel.lmdb as the publisher does, and return the open panel."""
    panel = Panel(directory)
    for first in range(1, zones + 1, 1000):
        panel.create_packed(*(zone_rrsets(number) for number in range(first, min(first + 1000, zones + 1))))
    return panel


def write_postgresql(url: str, zones: int) -> None:
    """Write the zones into PowerDNS's own tables."""
    with psycopg.connect(url, autocommit=True) as connection:
        tables = Tables(connection, url)
        tables.add((zone_name(number), zone_rrsets(number)) for number in range(1, zones + 1))
        tables.finish()


def write_questions(path: Path, *, zones: int, seed: int, count: int = QUESTIONS) -> None:
    """Write a file for dnsperf with random zones: existing names, and a share of RANDOM_SHARE nonexistent names."""
    chance = random.Random(seed)
    with path.open("w") as file:
        for number in range(count):
            zone = zone_name(chance.randrange(1, zones + 1))
            word = f"x{seed}-{number:x}" if chance.random() < RANDOM_SHARE else "www"
            file.write(f"{word}.{zone} A\n")


@dataclass(frozen=True, slots=True)
class Load:
    """The load on servers: its rate (0: as fast as they answer), and True in `apart` for separate cores."""

    words: str
    rate: int = 0
    apart: bool = False  # whether the server and dnsperf each have their own core
    once: bool = False  # stop after the last question instead of starting again
    outstanding: int = 200  # unanswered questions of all clients, few enough for the socket buffers
    do: bool = False  # the DO bit in every question, which requests signatures


SHARED = Load("as fast as the server answers, on cores shared with dnsperf")
SAME_RATE = Load(f"{RATE:,} queries/s", rate=RATE)
OWN_CORE = Load("as fast as the server answers, on its own core", apart=True)


class Processes:
    """Processes that are measured together, such as a server and its database, including all their descendants."""

    def __init__(self, *pids: int) -> None:
        self._roots = [psutil.Process(pid) for pid in pids]

    def cpu_seconds(self) -> float:
        """Return the processor time of all processes, in seconds."""
        seconds = 0.0
        for process in self._all():
            with contextlib.suppress(psutil.NoSuchProcess):  # a database may end workers at any time
                seconds += cpu_seconds(process)
        return seconds

    def memory_mb(self) -> float:
        """Return the processes' memory in MiB, including mapped files. Shared memory counts once."""
        return sum(process.memory_full_info().pss for process in self._all()) / 2**20

    def stay_on(self, core: int) -> None:
        """Restrict the processes' threads, and all that they start later, to this core."""
        for thread in (thread for process in self._all() for thread in process.threads()):
            with contextlib.suppress(ProcessLookupError):
                os.sched_setaffinity(thread.id, {core})

    def _all(self) -> list[psutil.Process]:
        return [one for root in self._roots for one in (root, *root.children(recursive=True))]


@dataclass(frozen=True, slots=True)
class Server:
    """A name server on a loopback port, run in the foreground. `configuration` is shown on the page."""

    name: str
    port: int
    command: tuple[str, ...]
    directory: Path
    configuration: str = ""
    first: str = f"www.{zone_name(1)}"  # the server is ready when it answers for this name
    databases: tuple[int, ...] = ()  # processes of its database
    start_seconds: float = START_SECONDS

    @contextlib.contextmanager
    def running(self, *, core: int | None = None) -> Iterator[Processes]:
        """Start the server, on this core if given, and yield its processes when it answers.

        Raise RuntimeError with the end of its log if it doesn't start.
        """
        log = self.directory / "log"
        with log.open("wb") as out:
            process = subprocess.Popen([*_on(core), *self.command], stdout=out, stderr=subprocess.STDOUT)
        try:
            deadline = time.monotonic() + self.start_seconds
            while not answers.has_address(("127.0.0.1", self.port), self.first):
                if process.poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError(f"{self.name} does not answer: {log.read_text(errors='replace')[-2000:]}")
                time.sleep(POLL_SECONDS)
            yield Processes(process.pid, *self.databases)
        finally:
            _end(process)


def pdns_server(name: str, directory: Path, settings: Mapping[str, str], *, port: int) -> Server:
    """Write a pdns.conf with these settings, and return the pdns_server."""
    directory.mkdir(parents=True, exist_ok=True)
    conf = conf_text({**settings, "local-port": str(port)})
    (directory / "pdns.conf").write_text(conf)
    return Server(name, port, ("pdns_server", f"--config-dir={directory}"), directory, conf)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill the process and its descendants, because the children of servers that fork would remain."""
    children = psutil.Process(process.pid).children(recursive=True) if process.poll() is None else []
    process.kill()
    process.wait()
    for child in children:
        with contextlib.suppress(psutil.NoSuchProcess):
            child.kill()
    psutil.wait_procs(children)


def dnsperf(processes: Processes, port: int, *questions: Path, seconds: float, load: Load = SHARED) -> Figures:
    """Run dnsperf for `seconds` seconds. Each file of questions has its own client address with many ports."""
    core = CLIENT_CORE if load.apart else None
    share = replace(load, rate=load.rate // len(questions), outstanding=load.outstanding // len(questions))
    before = processes.cpu_seconds()
    with contextlib.ExitStack() as stack:
        generators = [
            subprocess.Popen([*_on(core), *_dnsperf(f"127.0.0.{number}", port, file, seconds, share)], **_TEXT)
            for number, file in enumerate(questions, 1)
        ]
        for one in generators:
            stack.callback(one.kill)
        outputs = [one.communicate()[0] for one in generators]
    spent = processes.cpu_seconds() - before
    completed = sum(_figure(r"Queries completed:\s+(\d+)", text) for text in outputs)
    return Figures(
        qps=sum(_figure(r"Queries per second:\s+([\d.]+)", text) for text in outputs),
        cpu_us=spent / completed * 1e6,
        lost=sum(int(_figure(r"Queries lost:\s+(\d+)", text)) for text in outputs),
    )


def _dnsperf(address: str, port: int, questions: Path, seconds: float, load: Load) -> list[str]:
    return [
        *("dnsperf", "-s", "127.0.0.1", "-p", str(port), "-a", address),
        *("-d", str(questions), "-l", f"{seconds:g}"),
        *("-c", str(CLIENTS), "-T", "1", "-q", str(load.outstanding), "-t", "2"),
        *(["-Q", str(load.rate)] if load.rate else []),
        *(["-n", "1"] if load.once else []),
        *(["-D"] if load.do else []),
    ]


def _on(core: int | None) -> list[str]:
    """Return the start of a command line that restricts a command to this core (None: no restriction)."""
    return [] if core is None else ["taskset", "--cpu-list", str(core)]


def in_turns(rounds: int, competitors: Mapping[str, Callable[[int], T]]) -> dict[str, list[T]]:
    """Run all competitors in each round, in alternating order. Return the results of each by round."""
    found: dict[str, list[T]] = {name: [] for name in competitors}
    for number in range(rounds):
        for name in competitors if number % 2 == 0 else reversed(competitors):
            found[name].append(competitors[name](number))
    return found


def say_figures(found: Mapping[str, Sequence[Figures]]) -> None:
    for name, rounds in found.items():
        figures = figures_of(rounds)
        say(f"  {name:>22} {figures.qps:>10,.0f}/s {figures.cpu_us:>8.2f} µs each, {figures.lost} unanswered")


def ratio(of: Sequence[Figures], to: Sequence[Figures], name: str) -> float:
    """Return the median over the rounds of one server's figure divided by the other's in the same round.

    The machine's speed drifts by a third within minutes, but measurements of the same round are comparable.
    """
    return round(statistics.median(getattr(a, name) / getattr(b, name) for a, b in zip(of, to, strict=True)), 2)


def figures_of(rounds: Sequence[Figures]) -> Figures:
    """Return the medians of QPS and processor time over the rounds, and the sum of lost questions."""
    middle = len(rounds) // 2
    return Figures(
        qps=sorted(one.qps for one in rounds)[middle],
        cpu_us=sorted(one.cpu_us for one in rounds)[middle],
        lost=sum(one.lost for one in rounds),
    )


def conf_text(settings: Mapping[str, str]) -> str:
    return "".join(f"{name}={value}\n" for name, value in settings.items())


def settings_in(text: str) -> dict[str, str]:
    """Return the settings of a pdns.conf, without its comments."""
    lines = (line for line in text.splitlines() if line and not line.startswith("#"))
    return dict(line.split("=", 1) for line in lines)


def cpu_seconds(process: psutil.Process) -> float:
    """Return the processor time of a process, to the nanosecond. Raise psutil.NoSuchProcess if it has ended.

    A measurement lasts seconds, and the numbers below /proc count in hundredths.
    """
    clock = (~process.pid << 3) | 2  # the same as clock_getcpuclockid, which Python does not have
    try:
        return time.clock_gettime(clock)
    except OSError as exc:
        raise psutil.NoSuchProcess(process.pid) from exc


def _figure(pattern: str, text: str) -> float:
    found = re.search(pattern, text)
    if found is None:
        raise RuntimeError(f"dnsperf did not say {pattern!r}: {text[-1000:]}")
    return float(found.group(1))
