"""Three nodes of any kind, a function that changes one address on all of them, and the time that this takes."""

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
from functools import partial
from itertools import count
from pathlib import Path

from replication.dns import names
from tests.benchmarks import answers, serving
from tests.benchmarks.answers import Address
from tests.benchmarks.published.charts import display_label
from tests.benchmarks.say import say
from tests.benchmarks.serving import Processes

NODES = 3
FEWEST = 3  # minimum number of changes, even if each is slow
PAUSE = 1.0
PATIENCE = 60.0
QUIET_SECONDS = 900.0
_SOA, _IN = 6, 1
_NOTIFY = 0x2400  # opcode 4, authoritative
_NUMBERS = count(1)


@dataclass(frozen=True, slots=True)
class Fleet:
    """Three nodes. `change` sets the address of `www` in a zone, in the way that the fleet's software recommends."""

    label: str
    nodes: Sequence[Address]
    change: Callable[[str, str], None]
    bytes_sent: Callable[[], float]  # to each node since its start, on average
    lmdb: Path | None = None  # the database of one node, to measure how long it is locked


@dataclass(frozen=True, slots=True)
class Moved:
    """The measurements of one fleet at one size: the milliseconds of each change by round, and the cost per change."""

    label: str
    zones: int
    rounds: tuple[tuple[float, ...], ...]
    bytes_per_node: float  # for each change, on average
    lock_ms: float | None = None

    @property
    def edits(self) -> int:
        return sum(map(len, self.rounds))

    @property
    def p50_ms(self) -> float:
        """The median of the rounds' medians."""
        return statistics.median(map(statistics.median, self.rounds))

    @property
    def p99_ms(self) -> float:
        every = sorted(one for milliseconds in self.rounds for one in milliseconds)
        return every[math.ceil(len(every) * 0.99) - 1]

    def row(self) -> tuple[object, ...]:
        """Return the cells of this fleet's row in a table with the header HEAD."""
        lock = "" if self.lock_ms is None else self.lock_ms
        return (
            *(display_label(self.label), self.edits, round(self.p50_ms, 1), round(self.p99_ms, 1)),
            *(round(self.bytes_per_node), lock),
        )


HEAD = ("Servers", "Changes", "p50, ms", "p99, ms", "Bytes per node and change", "Longest lock, ms")
COLUMNS = (
    "*Changes* is the number of measured changes. *p50* (the median) and *p99* (99% of the changes are faster) are the "
    "time from a change until all three nodes answer with it. *Bytes per node and change* is the average number of "
    "bytes that one node receives for a change. *Longest lock* is the longest time that the node's LMDB was locked for "
    "writing. The cell is empty for servers without LMDB."
)


def all_of(parts: Sequence[Moved]) -> Moved:
    """Combine the measurements of one fleet at one size that were made at different times."""
    locks = [one.lock_ms for one in parts if one.lock_ms is not None]
    edits = sum(one.edits for one in parts)
    return Moved(
        label=parts[0].label,
        zones=parts[0].zones,
        rounds=tuple(milliseconds for one in parts for milliseconds in one.rounds),
        bytes_per_node=sum(one.bytes_per_node * one.edits for one in parts) / edits,
        lock_ms=max(locks, default=None),
    )


@dataclass(frozen=True, slots=True)
class _Turn:
    milliseconds: tuple[float, ...]
    bytes_sent: float
    lock_ms: float | None


def follow(fleets: Sequence[Fleet], zones: Sequence[str], *, of: int, rounds: int, seconds: float) -> list[Moved]:
    """Change one zone after another. All nodes must answer with a change before the next one.

    The fleets take turns in `rounds` rounds, for about `seconds` each in total. Before each change every node is
    queried, so that its caches contain the old address. Then comes a random pause of up to PAUSE, because some servers
    check for work only once a second.
    """
    turns = {
        fleet.label: partial(_turn, fleet, iter(zones), random.Random(of), seconds=seconds / rounds) for fleet in fleets
    }
    found = [_moved(label, of, made) for label, made in serving.in_turns(rounds, turns).items()]
    for moved in found:
        say(f"  {', '.join(map(str, moved.row()))}")
    return found


def _turn(fleet: Fleet, zones: Iterator[str], chance: random.Random, number: int, *, seconds: float) -> _Turn:
    """Run one fleet's turn, with at least FEWEST changes if enough zones are left."""
    milliseconds: list[float] = []
    before = fleet.bytes_sent()
    with _lock_watched(fleet.lmdb) as lock_ms:
        until = time.monotonic() + seconds
        while len(milliseconds) < FEWEST or time.monotonic() < until:
            zone = next(zones, None)
            if zone is None:
                break
            time.sleep(chance.uniform(0.0, PAUSE))
            milliseconds.append(_changed(fleet, zone))
    return _Turn(tuple(milliseconds), fleet.bytes_sent() - before, lock_ms())


def _moved(label: str, of: int, turns: Sequence[_Turn]) -> Moved:
    rounds = tuple(turn.milliseconds for turn in turns if turn.milliseconds)
    locks = [turn.lock_ms for turn in turns if turn.lock_ms is not None]
    sent = sum(turn.bytes_sent for turn in turns)
    return Moved(label, of, rounds, sent / sum(map(len, rounds)), max(locks, default=None))


def _changed(fleet: Fleet, zone: str) -> float:
    """Change a zone's address. Return the milliseconds from before the change to the last node's answer."""
    name, address = f"www.{zone}", _new_address()
    for node in fleet.nodes:
        answers.ask(node, answers.query(name), timeout=PATIENCE)
    began = time.monotonic()
    fleet.change(zone, address)
    return (max(answers.wait_for(fleet.nodes, name, address, timeout=PATIENCE)) - began) * 1000


def _new_address() -> str:
    """Return an address that no zone had before, because a fleet starts with the changes of earlier fleets."""
    number = next(_NUMBERS)
    return f"198.18.{number >> 8 & 255}.{number & 255}"


@contextlib.contextmanager
def _lock_watched(lmdb: Path | None) -> Iterator[Callable[[], float | None]]:
    """Yield a function that, after the block, returns how long the file's write lock was held at most."""
    if lmdb is None:
        yield lambda: None
        return
    found: list[float] = []
    command = [sys.executable, "-m", "tests.benchmarks.published.lock_probe", str(lmdb)]
    probe = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert probe.stdout is not None
    try:
        probe.stdout.readline()  # the probe has started
        yield lambda: found[0]
    finally:
        output, _ = probe.communicate()  # closing its input ends it
    found.append(round(float(output), 1))


def notify(zone: str, nodes: Sequence[Address]) -> None:
    """Send every node a NOTIFY for the zone, from loopback, without waiting for replies."""
    header = struct.pack(">HHHHHH", random.randrange(65536), _NOTIFY, 1, 0, 0, 0)
    wire = header + names.to_wire(zone) + struct.pack(">HH", _SOA, _IN)
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        for node in nodes:
            sock.sendto(wire, node)


def settle(*processes: Processes) -> None:
    """Wait until all these processes are idle. Raise TimeoutError if they aren't after QUIET_SECONDS."""
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
