"""Send one DNS query to one address: over UDP with EDNS and one retry, then over TCP if the answer is truncated."""

import errno
import socket
import time

import dns.exception
import dns.flags
import dns.message
import dns.name
import dns.query
import dns.rcode
import dns.rdataclass
import dns.rdatatype
import dns.rrset

from dnspanel.texts import gettext
from replication.dns import names

TRY_SECONDS = 1.5
_TRIES = 2
# Packets of this size are not fragmented on any common path.
_PAYLOAD = 1232
_NO_ROUTE = frozenset((errno.ENETUNREACH, errno.EHOSTUNREACH, errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT, errno.ENETDOWN))


class NoAnswer(Exception):
    """Raised if the address sent no readable answer. The message is a clause that explains why."""


def exchange(  # noqa: PLR0913  # the parts of a question to a server
    address: str,
    name: str,
    type: int,
    *,
    deadline: float,
    port: int = 53,
    is_recursive: bool = False,
    dnssec: bool = False,
) -> dns.message.Message:
    """Send a query to the server at `address`, and return the reply. Raise NoAnswer if UDP fails twice or TCP once.

    `deadline` (of `time.monotonic`) ends the tries early. Over UDP, packets that don't answer the query are ignored.
    `dnssec` requests signatures. For a recursive query, it also disables the resolver's validation.
    """
    query = dns.message.make_query(
        name_of(name), dns.rdatatype.RdataType.make(type), use_edns=0, payload=_PAYLOAD, want_dnssec=dnssec
    )
    if not is_recursive:
        query.flags &= ~dns.flags.RD
    elif dnssec:
        query.flags |= dns.flags.CD
    failure = gettext("no answer")
    for _ in range(_TRIES):
        left = min(TRY_SECONDS, deadline - time.monotonic())
        if left <= 0:
            break
        try:
            return _udp(query, address, port, left)
        except dns.message.Truncated:
            return _tcp(query, address, port, deadline)
        except dns.exception.Timeout:
            failure = gettext("no answer")
        except (dns.exception.DNSException, OSError, EOFError, ValueError) as exc:
            failure = _describe_failure(exc)
    raise NoAnswer(failure)


def _udp(query: dns.message.Message, address: str, port: int, seconds: float) -> dns.message.Message:
    return dns.query.udp(
        query, address, seconds, port, ignore_trailing=True, raise_on_truncation=True, ignore_errors=True
    )


def _tcp(query: dns.message.Message, address: str, port: int, deadline: float) -> dns.message.Message:
    try:
        left = max(0.1, min(2 * TRY_SECONDS, deadline - time.monotonic()))
        return dns.query.tcp(query, address, left, port, ignore_trailing=True)
    except (dns.exception.DNSException, OSError, EOFError, ValueError) as exc:
        raise NoAnswer(gettext("truncated over UDP, then over TCP: {exc}").format(exc=_describe_failure(exc))) from exc


def _describe_failure(exc: Exception) -> str:
    """Return a description of a failure, without any received text."""
    if isinstance(exc, dns.exception.Timeout):
        return gettext("no answer")
    if isinstance(exc, OSError):
        return exc.strerror or gettext("no connection")
    if isinstance(exc, EOFError):
        return gettext("the connection was closed")
    return gettext("malformed answer")


def has_route(address: str, port: int = 53) -> bool:
    """Return False if this machine is certain to have no route to the address. Send no packet."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            probe.connect((address, port))
    except OSError as exc:
        return exc.errno not in _NO_ROUTE
    return True


def name_of(name: str) -> dns.name.Name:
    """Convert a name from canonical text to dnspython's class."""
    return dns.name.from_wire(names.to_wire(name), 0)[0]


def text_of(name: dns.name.Name) -> str:
    """Convert a dnspython name to canonical text."""
    return names.from_wire(name.to_digestable())


def rrset_at(section: list[dns.rrset.RRset], name: dns.name.Name, type: int, covers: int = 0) -> dns.rrset.RRset | None:
    """Return the section's RRset (IN) with this name and type, or None. For RRSIG, `covers` is the covered type."""
    return next(
        (
            each
            for each in section
            if each.rdclass == dns.rdataclass.IN and each.name == name and (each.rdtype, each.covers) == (type, covers)
        ),
        None,
    )


def rcode_text(answer: dns.message.Message) -> str:
    """Return the mnemonic of an answer's response code, such as SERVFAIL or REFUSED."""
    return str(dns.rcode.to_text(answer.rcode()))
