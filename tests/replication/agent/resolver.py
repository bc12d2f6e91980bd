"""A resolver on loopback that knows a few names, for the targets of ALIAS records."""

import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import dns.flags
import dns.message
import dns.rcode
import dns.rdatatype
import dns.rrset

SILENT = "silent.target.test."


class Resolver:
    """A resolver that answers from `records` ({(name, type): address}), otherwise NXDOMAIN, and never for SILENT."""

    def __init__(self, records: Mapping[tuple[str, str], str]) -> None:
        self.records = dict(records)
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.bind(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._socket.getsockname()[1]}"
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            packet, sender = self._socket.recvfrom(4096)
            if not packet:
                return
            if reply := self._answer(dns.message.from_wire(packet)):
                self._socket.sendto(reply, sender)

    def _answer(self, query: dns.message.Message) -> bytes:
        name, type_ = str(query.question[0].name).lower(), dns.rdatatype.to_text(query.question[0].rdtype)
        if name == SILENT:
            return b""
        reply = dns.message.make_response(query, recursion_available=True)
        if (name, type_) in self.records:
            reply.answer.append(dns.rrset.from_text(name, 60, "IN", type_, self.records[name, type_]))
        elif name != "." and all(known != name for known, _ in self.records):
            reply.set_rcode(dns.rcode.NXDOMAIN)
        return reply.to_wire()

    def close(self) -> None:
        host, port = self.address.split(":")
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as waker:
            waker.sendto(b"", (host, int(port)))
        self._thread.join()
        self._socket.close()


@contextmanager
def resolver(records: Mapping[tuple[str, str], str]) -> Iterator[Resolver]:
    """Run a Resolver with these records inside the block."""
    found = Resolver(records)
    try:
        yield found
    finally:
        found.close()
