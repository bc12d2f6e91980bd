"""Send queries to the demo nodes at a limited rate, so that the nodes' live numbers change.

    python -m dnspanel.demo.traffic --stack var/stack.json

Each node receives between 10 and 40 queries a second, in slow waves. The queries are for names and types of the sample
zones, and sometimes for a missing name. Only loopback is queried. The process ends with the stack that started it.
"""

import argparse
import json
import math
import random
import socket
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import dns.message
import dns.rdatatype

from dnspanel.demo.ports import LOOPBACK
from dnspanel.demo.sample import SampleZone, sample_zones

LOWEST, HIGHEST = 10.0, 40.0  # queries per second and node
WAVE_SECONDS = 90.0
TICK_SECONDS = 0.1
SHARE_OF_MISSING_NAMES = 0.08


def rate(seconds: float, *, phase: float) -> float:
    """Return the queries per second at the time `seconds`. `phase` (0..1) shifts the wave; each node has its own."""
    wave = math.sin(2 * math.pi * (seconds / WAVE_SECONDS + phase))
    return LOWEST + (HIGHEST - LOWEST) * (1 + wave) / 2


@dataclass(frozen=True, slots=True)
class Questions:
    """Queries in wire format, for existing RRsets and for missing names."""

    existing: Sequence[bytes]
    missing: Sequence[bytes]

    def pick(self, chance: random.Random) -> bytes:
        """Return one of the queries with a random id."""
        pool = self.missing if chance.random() < SHARE_OF_MISSING_NAMES else self.existing
        return chance.randbytes(2) + chance.choice(pool)[2:]


def questions_for(zones: Iterable[SampleZone]) -> Questions:
    """Return a query per RRset, and a query per zone for a missing name. Wildcards get a name that they match."""
    existing: list[bytes] = []
    missing: list[bytes] = []
    for zone in zones:
        for number, rrset in enumerate(zone.rrsets):
            name = rrset.name.replace("*.", f"any-{number}.", 1)
            existing.append(dns.message.make_query(name, dns.rdatatype.RdataType.make(rrset.type)).to_wire())
        missing.append(dns.message.make_query(f"no-such-host.{zone.name}", dns.rdatatype.A).to_wire())
    return Questions(existing=existing, missing=missing)


class Trickle:
    """A sender of queries to one node at a varying rate. It ignores the responses."""

    def __init__(self, port: int, *, phase: float, questions: Questions, chance: random.Random) -> None:
        self._phase, self._questions, self._chance = phase, questions, chance
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.setblocking(False)  # noqa: FBT003  # it takes no names
        self._socket.connect((LOOPBACK, port))
        self._due = 0.0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self._socket.close()

    def step(self, *, now: float, elapsed: float) -> int:
        """Send the queries that became due since the last step. Return their number, even if some couldn't be sent."""
        self._due += min(elapsed, 1.0) * rate(now, phase=self._phase)
        count, self._due = int(self._due), self._due % 1
        for _ in range(count):
            try:
                self._socket.send(self._questions.pick(self._chance))
            except OSError:  # the node is restarting, or its buffer is full
                break
        self._drain()
        return count

    def _drain(self) -> None:
        try:
            while self._socket.recv(4096):
                pass
        except OSError:  # nothing more to read, or no server is listening
            return


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stack", type=Path, required=True, help="the stack.json that holds the nodes' ports")
    ports = json.loads(parser.parse_args().stack.read_text())["ports"]
    dns_ports = [port for name, port in sorted(ports.items()) if name.endswith("-dns")]
    questions, chance = questions_for(sample_zones()), random.Random()
    trickles = [
        Trickle(port, phase=index / len(dns_ports), questions=questions, chance=chance)
        for index, port in enumerate(dns_ports)
    ]
    before = time.monotonic()
    while True:
        time.sleep(TICK_SECONDS)
        now = time.monotonic()
        for trickle in trickles:
            trickle.step(now=now, elapsed=now - before)
        before = now


if __name__ == "__main__":
    main()
