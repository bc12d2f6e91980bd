"""Name servers on loopback with scripted answers over UDP and TCP. They share a port and have different addresses."""

import contextlib
import selectors
import socket
import threading
from collections.abc import Callable, Iterator, Mapping

import dns.flags
import dns.message
import dns.rcode
import dns.rdatatype
import dns.rrset

# From a query, and True if it came over TCP, to a reply, or to None for no reply.
Answers = Callable[[dns.message.Message, bool], "dns.message.Message | bytes | None"]

RESOLVER = "127.0.0.1"
ZONE, PARENT = "zone.parent.test.", "parent.test."
DS = "12345 13 2 " + "ab" * 32
OTHER = "54321 13 2 " + "cd" * 32
SOA = "ns.parent.test. hostmaster.parent.test. 1 3600 600 86400 "


@contextlib.contextmanager
def serving(servers: Mapping[str, Answers], port: int) -> Iterator[None]:
    """Run these servers, by address, inside the block."""
    with contextlib.ExitStack() as stack:
        selector = stack.enter_context(selectors.DefaultSelector())
        stop, stopped = socket.socketpair()
        stack.enter_context(stop)
        selector.register(stack.enter_context(stopped), selectors.EVENT_READ, None)
        for address, answers in servers.items():
            for kind in (socket.SOCK_DGRAM, socket.SOCK_STREAM):
                sock = stack.enter_context(socket.socket(socket.AF_INET, kind))
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                sock.bind((address, port))
                if kind == socket.SOCK_STREAM:
                    sock.listen()
                selector.register(sock, selectors.EVENT_READ, answers)
        thread = threading.Thread(target=_serve, args=(selector,))
        thread.start()
        try:
            yield
        finally:
            stop.send(b"x")
            thread.join()


def _serve(selector: selectors.BaseSelector) -> None:
    while True:
        for key, _ in selector.select():
            if key.data is None:
                return
            sock = key.fileobj
            assert isinstance(sock, socket.socket)
            if sock.type == socket.SOCK_DGRAM:
                packet, sender = sock.recvfrom(4096)
                if reply := _wire(key.data, packet, False):
                    sock.sendto(reply, sender)
                continue
            connection, _ = sock.accept()
            with connection, connection.makefile("rb") as stream:
                packet = stream.read(int.from_bytes(stream.read(2), "big"))
                if reply := _wire(key.data, packet, True):
                    connection.sendall(len(reply).to_bytes(2, "big") + reply)


def _wire(answers: Answers, packet: bytes, is_tcp: bool) -> bytes:
    reply = answers(dns.message.from_wire(packet), is_tcp)
    if isinstance(reply, dns.message.Message):
        return reply.to_wire(max_size=65535)
    return reply or b""


def reply_to(query: dns.message.Message, *, aa: bool = True) -> dns.message.Message:
    reply = dns.message.make_response(query, recursion_available=not aa)
    reply.flags |= dns.flags.AA if aa else 0
    return reply


def has(*ds: str, ttl: int = 3600) -> Answers:
    """Return a parent's server with these DS records for the zone, or with a negative answer if there are none."""

    def answer(query: dns.message.Message, is_tcp: bool) -> dns.message.Message:
        reply = reply_to(query)
        assert not query.flags & dns.flags.RD
        if ds:
            reply.answer.append(dns.rrset.from_text(query.question[0].name, ttl, "IN", "DS", *ds))
        else:
            reply.authority.append(dns.rrset.from_text(PARENT, ttl, "IN", "SOA", f"{SOA}300"))
        return reply

    return answer


def changed(answers: Answers, change: Callable[[dns.message.Message], None]) -> Answers:
    """Return the server with `change` applied to each reply."""

    def answer(query: dns.message.Message, is_tcp: bool) -> dns.message.Message:
        reply = answers(query, is_tcp)
        assert isinstance(reply, dns.message.Message)
        change(reply)
        return reply

    return answer


def cut_short(answers: Answers) -> Answers:
    """Return a server that truncates its answers over UDP and gives them over TCP."""

    def answer(query: dns.message.Message, is_tcp: bool) -> "dns.message.Message | bytes | None":
        if is_tcp:
            return answers(query, is_tcp)
        reply = reply_to(query)
        reply.flags |= dns.flags.TC
        return reply

    return answer


def resolver_of(nameservers: Mapping[str, tuple[str, ...]], *more: tuple[str, str, str]) -> Answers:
    """Return a resolver that knows the parent's name servers, their addresses, and more records."""
    records = [(PARENT, "NS", host) for host in nameservers]
    for host, addresses in nameservers.items():
        records += [(host, "AAAA" if ":" in address else "A", address) for address in addresses]
    records += more

    def answer(query: dns.message.Message, is_tcp: bool) -> dns.message.Message:
        [question] = query.question
        reply = reply_to(query, aa=False)
        name = question.name
        for _ in range(4):
            found = [
                (type, text)
                for owner, type, text in records
                if owner == str(name) and type in (dns.rdatatype.to_text(question.rdtype), "CNAME")
            ]
            if not found:
                break
            reply.answer.append(dns.rrset.from_text(name, 60, "IN", found[0][0], *(text for _, text in found)))
            if found[0][0] != "CNAME":
                return reply
            name = reply.answer[-1][0].target
        reply.authority.append(dns.rrset.from_text(PARENT, 60, "IN", "SOA", f"{SOA}300"))
        return reply

    return answer


def nobody(query: dns.message.Message, is_tcp: bool) -> None:
    """Don't answer the query."""
