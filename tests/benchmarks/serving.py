"""PowerDNS servers side by side on loopback: the same zones in LMDB and in PostgreSQL, and dnsperf asking them.

The zones are those of a published comparison of PowerDNS backends: `test<N>.org.`, each with SOA, one NS and
`www` with two addresses. Of the questions 40 % are for names that do not exist, a new one each time.
"""

import contextlib
import os
import random
import re
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import psutil
import psycopg

from replication.dns import rdtypes
from replication.dns.rrset import RRset
from tests.benchmarks.rivals import rival_schema
from tests.replication.panel import Panel

START_SECONDS = 30
RANDOM_SHARE = 0.4
# Questions in one file: more than any server here answers in a measurement, so that no random name comes twice.
QUESTIONS = 700_000
# The kernel gives each client's socket to one receiver of the server: few of them leave one receiver half idle.
CLIENTS = 64
# What `Server.running` and `dnsperf` may be told to stay on: the server's own core, and the generator's.
SERVER_CORE, CLIENT_CORE = max(os.sched_getaffinity(0)), min(os.sched_getaffinity(0))
CACHES_OFF = {"cache-ttl": "0", "query-cache-ttl": "0", "negquery-cache-ttl": "0"}


@dataclass(frozen=True, slots=True)
class Figures:
    """One measurement: answers per second, the server's processor time per answer (µs), questions without answer."""

    qps: float
    cpu_us: float
    lost: int


def zone_name(number: int) -> str:
    return f"test{number}.org."


def zone_rrsets(number: int) -> list[RRset]:
    name = zone_name(number)
    return [
        RRset(name, rdtypes.SOA, 3600, (f"a.invalid. hostmaster.{name} 1 10800 3600 604800 3600",)),
        RRset(name, rdtypes.NS, 3600, ("ns1.test1.org.",)),
        RRset("www." + name, rdtypes.A, 3600, ("1.1.1.1", "42.42.42.42")),
    ]


def write_lmdb(directory: Path, zones: int) -> Panel:
    """The zones, as our publisher writes them, in `directory`/panel.lmdb; the panel is still open."""
    panel = Panel(directory)
    for first in range(1, zones + 1, 1000):
        panel.create_packed(*(zone_rrsets(number) for number in range(first, min(first + 1000, zones + 1))))
    return panel


def write_postgresql(url: str, zones: int) -> None:
    """The same zones in PowerDNS's own tables, rectified as `pdnsutil` would leave them."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(rival_schema())
        with connection.cursor() as cursor:
            with cursor.copy("COPY domains (id, name, type) FROM STDIN") as copy:
                for number in range(1, zones + 1):
                    copy.write_row((number, zone_name(number).rstrip("."), "NATIVE"))
            columns = "domain_id, name, type, content, ttl, prio, disabled, ordername, auth"
            with cursor.copy(f"COPY records ({columns}) FROM STDIN") as copy:
                for number in range(1, zones + 1):
                    for rrset in zone_rrsets(number):
                        owner = rrset.name.rstrip(".")
                        ordername = owner.removesuffix(zone_name(number).rstrip(".")).rstrip(".")
                        for text in rrset.rdata:
                            row = (number, owner, rdtypes.type_to_text(rrset.type), text, rrset.ttl, 0, False)
                            copy.write_row((*row, ordername, True))
        connection.execute("VACUUM ANALYZE")


def write_questions(path: Path, *, zones: int, seed: int, count: int = QUESTIONS) -> None:
    """A file for dnsperf: random zones; existing names, and RANDOM_SHARE names that nobody has."""
    chance = random.Random(seed)
    with path.open("w") as file:
        for number in range(count):
            zone = zone_name(chance.randrange(1, zones + 1))
            word = f"x{seed}-{number:x}" if chance.random() < RANDOM_SHARE else "www"
            file.write(f"{word}.{zone} A\n")


class Server:
    """One pdns_server with this configuration text; only one runs at a time."""

    def __init__(self, name: str, directory: Path, conf: str, *, port: int) -> None:
        self.name, self.directory, self.port = name, directory, port
        directory.mkdir(parents=True, exist_ok=True)
        (directory / "pdns.conf").write_text(conf)

    @contextlib.contextmanager
    def running(self, *, core: int | None = None) -> Iterator[psutil.Process]:
        """It answers; on this core alone, if one is named."""
        with (self.directory / "log").open("wb") as log:
            process = subprocess.Popen(
                [*_on(core), "pdns_server", f"--config-dir={self.directory}"], stdout=log, stderr=subprocess.STDOUT
            )
        try:
            deadline = time.monotonic() + START_SECONDS
            while not answers(self.port):
                if process.poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError(f"{self.name} does not answer: {(self.directory / 'log').read_text()[-2000:]}")
                time.sleep(0.05)
            yield psutil.Process(process.pid)
        finally:
            process.kill()
            process.wait()


def answers(port: int) -> bool:
    """True if a server at this port answers for the first zone."""
    done = subprocess.run(
        ["dig", "+short", "+time=1", "+tries=1", "@127.0.0.1", "-p", str(port), f"www.{zone_name(1)}"],
        capture_output=True,
        text=True,
    )
    return "1.1.1.1" in done.stdout.split()


def dnsperf(
    process: psutil.Process, port: int, questions: Path, *, seconds: float, rate: int = 0, core: int | None = None
) -> Figures:
    """Ask for so long: so many questions per second, or without a rate as fast as the server answers."""
    before = cpu_seconds(process)
    done = subprocess.run(
        [
            *_on(core),
            "dnsperf",
            "-s",
            "127.0.0.1",
            "-p",
            str(port),
            "-d",
            str(questions),
            "-l",
            f"{seconds:g}",
            "-c",
            str(CLIENTS),
            "-T",
            "1",
            "-q",
            "200",
            "-t",
            "2",
            *(["-Q", str(rate)] if rate else []),
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    spent = cpu_seconds(process) - before
    completed = int(_figure(r"Queries completed:\s+(\d+)", done.stdout))
    return Figures(
        qps=_figure(r"Queries per second:\s+([\d.]+)", done.stdout),
        cpu_us=spent / completed * 1e6,
        lost=int(_figure(r"Queries lost:\s+(\d+)", done.stdout)),
    )


def _on(core: int | None) -> list[str]:
    """What to write before a command that has to stay on a core."""
    return [] if core is None else ["taskset", "--cpu-list", str(core)]


def figures_of(rounds: Sequence[Figures]) -> Figures:
    """The median of each figure; all lost questions."""
    middle = len(rounds) // 2
    return Figures(
        qps=sorted(one.qps for one in rounds)[middle],
        cpu_us=sorted(one.cpu_us for one in rounds)[middle],
        lost=sum(one.lost for one in rounds),
    )


def conf_text(settings: Mapping[str, str]) -> str:
    return "".join(f"{name}={value}\n" for name, value in settings.items())


def settings_in(text: str) -> dict[str, str]:
    """The settings of a pdns.conf, without its comments."""
    lines = (line for line in text.splitlines() if line and not line.startswith("#"))
    return dict(line.split("=", 1) for line in lines)


def cpu_seconds(process: psutil.Process) -> float:
    """The processor time that a process has spent."""
    times = process.cpu_times()
    return float(times.user + times.system)


def _figure(pattern: str, text: str) -> float:
    found = re.search(pattern, text)
    if found is None:
        raise RuntimeError(f"dnsperf did not say {pattern!r}: {text[-1000:]}")
    return float(found.group(1))
