"""A watcher that queries several nodes for an A record until each returns the expected address.

It uses one thread, one socket per node and handmade queries. It must use as little as possible of the machine's two
cores, because it runs together with what it measures.
"""

import random
import selectors
import socket
import struct
import time
from collections.abc import Iterator, Sequence

from replication.dns import names

POLL_SECONDS = 0.001
Address = tuple[str, int]


def query(name: str, *, edns: bool = False, do: bool = False) -> bytes:
    """Return a query for A records with a random id, optionally with EDNS and its DO bit."""
    header = struct.pack(">HHHHHH", random.randrange(65536), 0, 1, 0, 0, 1 if edns else 0)
    opt = struct.pack(">BHHIH", 0, 41, 1232, 0x8000 if do else 0, 0) if edns else b""
    return header + names.to_wire(name) + struct.pack(">HH", 1, 1) + opt


def addresses_in(reply: bytes) -> set[bytes]:
    """Return the A records of a reply. Its answer section must contain only CNAME and A records."""
    return {rdata for _, rdata in _a_records(reply)}


def _a_records(reply: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield the TTL and address of each A record in the reply."""
    _, _, questions, answers, _, _ = struct.unpack_from(">HHHHHH", reply)
    offset = 12
    for _ in range(questions):
        offset = _skip_name(reply, offset) + 4
    for _ in range(answers):
        offset = _skip_name(reply, offset)
        rtype, _, ttl, length = struct.unpack_from(">HHIH", reply, offset)
        offset += 10
        if rtype == 1:
            yield ttl, reply[offset : offset + length]
        offset += length


def _skip_name(reply: bytes, offset: int) -> int:
    while True:
        length = reply[offset]
        if length == 0:
            return offset + 1
        if length >= 0xC0:
            return offset + 2
        offset += length + 1


def ask(node: Address, wire: bytes, timeout: float = 2.0) -> set[bytes]:
    """Send this query to the node and return the A records of its reply."""
    return addresses_in(_reply(node, wire, timeout))


def ttls(node: Address, name: str) -> set[int]:
    """Query the node for the name and return the TTLs of the A records."""
    return {ttl for ttl, _ in _a_records(_reply(node, query(name), 2.0))}


def _reply(node: Address, wire: bytes, timeout: float) -> bytes:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.settimeout(timeout)
        sock.connect(node)
        sock.send(wire)
        return sock.recv(4096)


def has_address(node: Address, name: str) -> bool:
    """Return True if a server at this address returns an A record for the name."""
    try:
        return bool(ask(node, query(name)))
    except OSError:
        return False


def wait_for(
    nodes: Sequence[Address], name: str, address: str, *, timeout: float = 10.0, every: float = POLL_SECONDS
) -> list[float]:
    """Wait until each node returns exactly `address`. Return the time (monotonic seconds) when each node did.

    Query each node every `every` seconds. Raise TimeoutError with the names of nodes that didn't return it in time.
    """
    wanted = {socket.inet_aton(address)}
    seen: dict[int, float] = {}
    deadline = time.monotonic() + timeout
    with selectors.DefaultSelector() as selector:
        for index, node in enumerate(nodes):
            sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            sock.setblocking(False)
            sock.connect(node)
            selector.register(sock, selectors.EVENT_READ, index)
        try:
            while len(seen) < len(nodes):
                if time.monotonic() > deadline:
                    late = [f"{host}:{port}" for i, (host, port) in enumerate(nodes) if i not in seen]
                    raise TimeoutError(f"{name} is not {address} at {', '.join(late)} after {timeout:.0f} s")
                _poll(selector, query(name), wanted, seen, every)
        finally:
            for key in list(selector.get_map().values()):
                key.fileobj.close()  # type: ignore[union-attr]
    return [seen[index] for index in range(len(nodes))]


def wait_for_last(
    nodes: Sequence[Address], name: str, address: str, *, timeout: float = 10.0, every: float = POLL_SECONDS
) -> float:
    """Return the time (monotonic seconds) when the last node was seen to return exactly `address`.

    Nodes are watched one after another, so that watching does not load many nodes on one machine. A node that was
    faster than an earlier one is seen a fraction of a millisecond late.
    """
    return max(wait_for([node], name, address, timeout=timeout, every=every)[0] for node in nodes)


def _poll(
    selector: selectors.BaseSelector, wire: bytes, wanted: set[bytes], seen: dict[int, float], every: float
) -> None:
    """Send the query to every node that has not answered yet, and read replies for one interval."""
    for key in selector.get_map().values():
        if key.data not in seen:
            key.fileobj.send(wire)  # type: ignore[union-attr]
    end = time.monotonic() + every
    while len(seen) < len(selector.get_map()) and (left := end - time.monotonic()) > 0:
        for key, _ in selector.select(left):
            reply = key.fileobj.recv(4096)  # type: ignore[union-attr]
            if key.data not in seen and addresses_in(reply) == wanted:
                seen[key.data] = time.monotonic()
