"""Exchange many messages with one address over UDP. With a key, the answers are authenticated."""

import select
import socket
import time
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import ip_address

import dns.exception
import dns.flags
import dns.message
import dns.name
import dns.opcode
import dns.rcode
import dns.rdata
import dns.rdataclass
import dns.rdatatype
import dns.rrset
import dns.tsig
from django.conf import settings

from dnspanel import outbound
from dnspanel.secondaries.server_addresses import host_and_port
from dnspanel.texts import gettext
from dnspanel.zones.values.soa import served_soa
from replication.dns import rdata, rdtypes
from replication.dns.rrset import RRset

# The number of messages in progress at once, so that no buffer of the receiver overflows.
_WINDOW = 64
LARGEST = 4096


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to one message. `error` is empty if the answer was as expected."""

    error: str = ""
    message: dns.message.Message | None = None
    proven: bool = True  # False: any sender could have sent it, and a proven answer may follow


def not_allowed() -> Answer:
    """Return the error answer for an address that the panel isn't allowed to send to."""
    return Answer(gettext("PANEL_SECONDARY_NETWORKS doesn’t allow this address."))


def answer_of_silence() -> Answer:
    """Return the error answer for a server that didn't answer in time."""
    return Answer(gettext("The server didn’t respond."))


def notify_message(zone_name: str, soa: RRset | None) -> dns.message.Message:
    """Return a NOTIFY (RFC 1996) for a zone. It contains the zone's new SOA unless `soa` is None."""
    message = dns.message.make_query(zone_name, dns.rdatatype.SOA, flags=int(dns.flags.AA))
    message.set_opcode(dns.opcode.NOTIFY)
    if soa is not None:
        wire = rdata.to_wire(rdtypes.SOA, served_soa(soa))
        record = dns.rdata.from_wire(dns.rdataclass.IN, dns.rdatatype.SOA, wire, 0, len(wire))
        message.answer.append(dns.rrset.from_rdata(dns.name.from_text(zone_name), soa.ttl, record))
    return message


def soa_question(zone_name: str) -> dns.message.Message:
    """Return the query for a zone's SOA, without recursion."""
    return dns.message.make_query(zone_name, dns.rdatatype.SOA, flags=0)


def exchange(
    messages: Sequence[dns.message.Message], *, address: str, key: dns.tsig.Key | None, seconds: float
) -> list[Answer]:
    """Send the messages and return their answers. If the address isn't allowed, all answers are errors.

    Up to _WINDOW messages are sent together, and must be answered within `seconds`. If none of them is, later messages
    get the same error without being sent. An answer without a valid signature is only used as the server's reason for
    rejecting the message. If `key` is None, messages are unsigned, and any answer from that address is accepted.
    """
    host, port = host_and_port(address)
    if not outbound.is_allowed(host, settings.SECONDARY_NETWORKS):
        return [not_allowed()] * len(messages)
    answers: list[Answer] = []
    family = socket.AF_INET6 if ip_address(host).version == 6 else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM) as sock:
        sock.setblocking(False)  # noqa: FBT003  # takes no keywords
        try:
            sock.connect((host, port))
        except OSError as exc:
            return [
                Answer(gettext("Couldn’t connect to {address}: {reason}.").format(address=address, reason=exc.strerror))
            ] * len(messages)
        for start in range(0, len(messages), _WINDOW):
            found = _window(sock, messages[start : start + _WINDOW], key, seconds)
            answers += found
            if not any(answer.message is not None for answer in found):  # it will not answer later messages either
                break
    return answers + [answers[-1]] * (len(messages) - len(answers))


def _window(
    sock: socket.socket, messages: Sequence[dns.message.Message], key: dns.tsig.Key | None, seconds: float
) -> list[Answer]:
    waiting = with_own_ids(messages)
    found = [answer_of_silence()] * len(messages)
    for number, message in enumerate(messages):
        if key is not None:
            message.use_tsig(key, algorithm=key.algorithm)
        try:
            sock.send(message.to_wire())
        except OSError as exc:
            found[number] = Answer(gettext("The server couldn’t be reached: {reason}.").format(reason=exc.strerror))
    deadline = time.monotonic() + seconds
    while waiting and (left := deadline - time.monotonic()) > 0 and select.select([sock], [], [], left)[0]:
        try:
            wire = sock.recv(LARGEST)
        except BlockingIOError:
            continue
        except OSError as exc:  # ICMP: port unreachable
            for number in waiting.values():
                found[number] = Answer(gettext("The server couldn’t be reached: {reason}.").format(reason=exc.strerror))
            break
        number = waiting.get(int.from_bytes(wire[:2], "big"), -1)
        if number >= 0 and (answer := read_answer(wire, messages[number], key)) is not None:
            found[number] = answer
            if answer.proven:
                del waiting[messages[number].id]
    return found


def with_own_ids(messages: Sequence[dns.message.Message]) -> dict[int, int]:
    """Set a unique id on each message. Return the index of each message by id."""
    found: dict[int, int] = {}
    for number, message in enumerate(messages):
        while message.id in found:
            message.id = (message.id + 1) % 65536
        found[message.id] = number
    return found


def read_answer(wire: bytes, query: dns.message.Message, key: dns.tsig.Key | None) -> Answer | None:
    """Parse an answer to `query`. Return None if the data isn't an answer to this query."""
    try:
        keyring = None if key is None else {key.name: key}
        message = dns.message.from_wire(wire, keyring=keyring, request_mac=query.mac)
    except dns.tsig.PeerError as exc:
        return Answer(
            gettext("The server rejected the key: {reason}.").format(reason=type(exc).__name__.removeprefix("Peer")),
            proven=False,
        )
    except (dns.exception.DNSException, ValueError):
        return _read_unsigned(wire, query)
    if not query.is_response(message):
        return None
    if message.rcode() != dns.rcode.NOERROR:
        return Answer(gettext("The server answered {rcode}.").format(rcode=dns.rcode.to_text(message.rcode())), message)
    return Answer("", message)


def _read_unsigned(wire: bytes, query: dns.message.Message) -> Answer | None:
    """Return an unproven error if the data is an unsigned answer to `query`, or else None."""
    try:
        message = dns.message.from_wire(wire)
    except (dns.exception.DNSException, ValueError):
        return None
    if message.had_tsig or not query.is_response(message):
        return None
    return Answer(
        gettext("The server answered {rcode} without a signature.").format(rcode=dns.rcode.to_text(message.rcode())),
        proven=False,
    )
