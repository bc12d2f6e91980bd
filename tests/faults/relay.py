"""A link to a network namespace, made of two TUN devices and this process between them.

    python -m tests.faults.relay NAMESPACE OURS THEIRS

Each line on standard input sets the link's conditions, and is answered with a line: `{"loss": 0.3, "delay": 0.5,
"bytes_per_second": 125000, "lost_ports": [8533]}`. Losses come from a seeded random generator. The devices disappear
with this process.
"""

import ctypes
import fcntl
import heapq
import json
import os
import random
import select
import struct
import subprocess
import sys
import time
from dataclasses import dataclass, field
from itertools import count

_TUNSETIFF = 0x400454CA
_IFF_TUN, _IFF_NO_PI = 1, 0x1000
_CLONE_NEWNET = 0x40000000
_TCP = 6
# Packets that a slow link queues; further ones are lost, as in a router.
_MOST_WAITING = 1_000
_PACKET = 65_535


@dataclass(slots=True)
class Conditions:
    """The link's current loss, delay, rate and lost ports."""

    loss: float = 0.0
    delay: float = 0.0
    bytes_per_second: float = 0.0
    lost_ports: tuple[int, ...] = ()


@dataclass(slots=True)
class Direction:
    """The packets that wait in one direction of the link."""

    source: int
    target: int
    from_host: bool
    waiting: list[tuple[float, int, bytes]] = field(default_factory=list)
    free_at: float = 0.0  # the time when all accepted data will be sent

    def take(self, packet: bytes, conditions: Conditions, now: float, chance: random.Random, number: int) -> None:
        """Queue the packet for its delivery time, or drop it."""
        if chance.random() < conditions.loss or len(self.waiting) >= _MOST_WAITING:
            return
        if self.from_host and conditions.lost_ports and tcp_source_port(packet) in conditions.lost_ports:
            return
        begins = max(now, self.free_at)
        if conditions.bytes_per_second:
            self.free_at = begins + len(packet) / conditions.bytes_per_second
            begins = self.free_at
        heapq.heappush(self.waiting, (begins + conditions.delay, number, packet))

    def send_due(self, now: float) -> None:
        while self.waiting and self.waiting[0][0] <= now:
            packet = heapq.heappop(self.waiting)[2]
            try:
                os.write(self.target, packet)
            except OSError:
                continue  # the device is down or full, so the packet is lost


def tcp_source_port(packet: bytes) -> int | None:
    """Return the source port of an IPv4 packet with TCP, or None for other packets."""
    header = (packet[0] & 15) * 4
    if packet[0] >> 4 != 4 or packet[9] != _TCP or len(packet) < header + 2:
        return None
    return int.from_bytes(packet[header : header + 2], "big")


def open_tun(name: str) -> int:
    """Open a TUN device of this name in the current thread's network namespace."""
    descriptor = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
    fcntl.ioctl(descriptor, _TUNSETIFF, struct.pack("16sH22x", name.encode(), _IFF_TUN | _IFF_NO_PI))
    return descriptor


def enter_namespace(path: str) -> None:
    """Move this process into a network namespace. Raise OSError if the system refuses."""
    libc = ctypes.CDLL(None, use_errno=True)
    descriptor = os.open(path, os.O_RDONLY)
    try:
        if libc.setns(descriptor, _CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), f"cannot enter {path}")
    finally:
        os.close(descriptor)


def _address(device: str, address: str) -> None:
    for words in (("addr", "add", f"{address}/30", "dev", device), ("link", "set", device, "up")):
        subprocess.run(["ip", *words], check=True)


def pump(ours: int, theirs: int, chance: random.Random) -> None:
    """Carry packets both ways until standard input ends."""
    conditions = Conditions()
    directions = {ours: Direction(ours, theirs, False), theirs: Direction(theirs, ours, True)}
    numbers = count()
    poll = select.poll()
    for descriptor in (0, ours, theirs):
        poll.register(descriptor, select.POLLIN)
    while True:
        due = [direction.waiting[0][0] for direction in directions.values() if direction.waiting]
        wait = max(0.0, min(due) - time.monotonic()) * 1000 if due else None
        for descriptor, _ in poll.poll(wait):
            if descriptor == 0:
                line = sys.stdin.readline()
                if not line:
                    return
                fields = json.loads(line)
                conditions = Conditions(**{**fields, "lost_ports": tuple(fields["lost_ports"])})
                print("so it is", flush=True)  # noqa: T201
            else:
                _carry(directions[descriptor], conditions, chance, numbers)
        now = time.monotonic()
        for direction in directions.values():
            direction.send_due(now)


def _carry(direction: Direction, conditions: Conditions, chance: random.Random, numbers: "count[int]") -> None:
    """Take up to 64 waiting packets from the device."""
    for _ in range(64):
        try:
            packet = os.read(direction.source, _PACKET)
        except BlockingIOError:
            return
        direction.take(packet, conditions, time.monotonic(), chance, next(numbers))


def main() -> None:
    namespace, ours, theirs = sys.argv[1:]
    device = f"dnsf{ours.rpartition('.')[2]}"
    near = open_tun(device)
    _address(device, ours)
    enter_namespace(f"/run/netns/{namespace}")
    far = open_tun("link0")
    _address("link0", theirs)
    print("up", flush=True)  # noqa: T201
    pump(near, far, random.Random(namespace))


if __name__ == "__main__":
    main()
