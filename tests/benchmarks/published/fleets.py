"""Three nodes of whatever kind, a way to change one address for all of them, and how long that takes."""

import contextlib
import math
import random
import socket
import statistics
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from replication.dns import names
from tests.benchmarks import answers
from tests.benchmarks.answers import Address
from tests.benchmarks.say import say
from tests.benchmarks.serving import Processes

NODES = 3
FEWEST = 3  # changes, however long one takes
PAUSE = 1.0
PATIENCE = 60.0
QUIET_SECONDS = 900.0
_SOA, _IN = 6, 1
_NOTIFY = 0x2400  # opcode 4, authoritative
_NUMBERS = count(1)


@dataclass(frozen=True, slots=True)
class Fleet:
    """Three nodes. `change` gives `www` of a zone an address, as the fleet's makers would have it."""

    label: str
    nodes: Sequence[Address]
    change: Callable[[str, str], None]
    bytes_sent: Callable[[], float]  # to each node so far, on average
    lmdb: Path | None = None  # of one of the nodes: who locks it, and for how long?


@dataclass(frozen=True, slots=True)
class Moved:
    """What was measured of one fleet at one size: milliseconds, and bytes to each node for each change."""

    label: str
    zones: int
    edits: int
    p50_ms: float
    p99_ms: float
    bytes_per_node: float
    lock_ms: float | None = None

    def row(self) -> tuple[object, ...]:
        """Its cells in a table under HEAD."""
        lock = "" if self.lock_ms is None else self.lock_ms
        return self.label, self.edits, self.p50_ms, self.p99_ms, round(self.bytes_per_node), lock


HEAD = ("", "Changes", "p50 ms", "p99 ms", "Bytes per node and change", "Longest lock ms")


def follow(fleet: Fleet, zones: Sequence[str], *, of: int, seconds: float) -> Moved:
    """Change one zone after another, each answered by all nodes before the next, for about so long.

    Before each change every node is asked, so that its caches hold the old address; and there is a pause of up to
    PAUSE, since some servers look once a second whether there is something to do.
    """
    chance = random.Random(of)
    milliseconds: list[float] = []
    until = time.monotonic() + seconds
    before = fleet.bytes_sent()
    with _lock_watched(fleet.lmdb) as lock_ms:
        for number, zone in enumerate(zones):
            if number >= FEWEST and time.monotonic() > until:
                break
            time.sleep(chance.uniform(0.0, PAUSE))
            milliseconds.append(_changed(fleet, zone))
    moved = Moved(
        label=fleet.label,
        zones=of,
        edits=len(milliseconds),
        p50_ms=round(statistics.median(milliseconds), 1),
        p99_ms=round(sorted(milliseconds)[math.ceil(len(milliseconds) * 0.99) - 1], 1),
        bytes_per_node=(fleet.bytes_sent() - before) / len(milliseconds),
        lock_ms=lock_ms(),
    )
    say(f"  {', '.join(map(str, moved.row()))}")
    return moved


def _changed(fleet: Fleet, zone: str) -> float:
    """Milliseconds from before the change to the last node's answer."""
    name, address = f"www.{zone}", _new_address()
    for node in fleet.nodes:
        answers.ask(node, answers.query(name), timeout=PATIENCE)
    began = time.monotonic()
    fleet.change(zone, address)
    return (max(answers.wait_for(fleet.nodes, name, address, timeout=PATIENCE)) - began) * 1000


def _new_address() -> str:
    """One that no zone ever had: fleets start from what others changed before."""
    number = next(_NUMBERS)
    return f"198.18.{number >> 8 & 255}.{number & 255}"


@contextlib.contextmanager
def _lock_watched(lmdb: Path | None) -> Iterator[Callable[[], float | None]]:
    """Afterwards the function knows how long somebody held the file's write lock, at the longest: `lock_probe`."""
    if lmdb is None:
        yield lambda: None
        return
    found: list[float] = []
    command = [sys.executable, "-m", "tests.benchmarks.published.lock_probe", str(lmdb)]
    probe = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        yield lambda: found[0]
    finally:
        output, _ = probe.communicate()  # the end of its input ends it
    found.append(round(float(output), 1))


def notify(zone: str, nodes: Sequence[Address]) -> None:
    """Every node is sent a NOTIFY for the zone, from loopback. Nobody waits for their replies."""
    header = struct.pack(">HHHHHH", random.randrange(65536), _NOTIFY, 1, 0, 0, 0)
    wire = header + names.to_wire(zone) + struct.pack(">HH", _SOA, _IN)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        for node in nodes:
            sock.sendto(wire, node)


def settle(*processes: Processes) -> None:
    """Return when none of them has anything to do. Raises TimeoutError."""
    deadline = time.monotonic() + QUIET_SECONDS
    spent, quiet = _spent(processes), 0
    while quiet < 4:
        if time.monotonic() > deadline:
            raise TimeoutError(f"servers are still at work after {QUIET_SECONDS:.0f} s")
        time.sleep(0.5)
        before, spent = spent, _spent(processes)
        quiet = quiet + 1 if spent - before < 0.05 else 0


def _spent(processes: Sequence[Processes]) -> float:
    return sum(one.cpu_seconds() for one in processes)
