"""Query a primary's SOA: over UDP, then over TCP if the answer is truncated or REFUSED, or only over TLS."""

from dataclasses import dataclass

import dns.exception
import dns.flags
import dns.message
import dns.name
import dns.query
import dns.rcode
import dns.rdatatype
import dns.tsig

from dnspanel.primaries.errors import TransferFailed
from dnspanel.texts import gettext
from dnspanel.transfer.allowed_servers import allowed_addresses
from dnspanel.transfer.errors import ServerRefused, SourceAway
from dnspanel.transfer.sources.over_dns.axfr_in import Server
from dnspanel.transfer.sources.over_dns.dns_over_tls import TlsPeer
from dnspanel.transfer.sources.over_dns.dns_wire import BadMessage
from dnspanel.transfer.sources.over_dns.ixfr_in import serial_in
from dnspanel.transfer.sources.over_dns.transfer_faults import TIMEOUT, Broken, NotGiven
from replication.dns import rdtypes

SECONDS = 3.0
# A primary is silent after this number of queries without an answer.
ATTEMPTS = 2
TLS_SECONDS = 10.0
# Temporary failures of a primary, which raise an alert only if they last. A refusal raises an alert at once.
_PASSING = (TIMEOUT, "transfer-servfail")


@dataclass(frozen=True, slots=True)
class Primary:
    """A primary's address, TSIG key and TLS identity. `key` and `tls` are None if the primary doesn't use them."""

    host: str
    port: int
    key: dns.tsig.Key | None
    tls: TlsPeer | None = None


def serial_at(primary: Primary, zone: str) -> int:
    """Return the serial that the primary has for the zone.

    Raise TransferFailed if the query fails, or if the answer isn't authoritative, has no SOA, or isn't signed with the
    key.
    """
    where = gettext("{host} port {port}").format(host=primary.host, port=primary.port)
    if primary.tls is not None:
        return _serial_over_tls(primary, zone, where)
    try:
        [address, *_] = allowed_addresses(primary.host, primary.port)
    except (ServerRefused, SourceAway) as exc:
        raise TransferFailed(str(exc), is_refused=True) from exc
    answer = _answer(primary, zone, address, where)
    if answer.rcode() != dns.rcode.NOERROR:
        is_refused = answer.rcode() in (dns.rcode.REFUSED, dns.rcode.NOTAUTH)
        raise TransferFailed(
            gettext("{where} answered the SOA query with {to_text}.").format(
                where=where, to_text=dns.rcode.to_text(answer.rcode())
            ),
            is_refused=is_refused,
        )
    if primary.key is not None and not answer.had_tsig:
        raise TransferFailed(
            gettext("{where} didn’t sign its answer to the SOA query.").format(where=where), is_refused=True
        )
    if not answer.flags & dns.flags.AA:
        raise _not_authoritative(where, zone)
    name = dns.name.from_text(zone)
    for rrset in answer.answer:
        if rrset.rdtype == dns.rdatatype.SOA and rrset.name == name:
            return int(rrset[0].serial)
    raise _no_soa(where, zone)


def _serial_over_tls(primary: Primary, zone: str, where: str) -> int:
    server = Server(primary.host, primary.port, primary.key, TLS_SECONDS, allowed_addresses, tls=primary.tls)
    try:
        answer = server.answer(dns.message.make_query(zone, dns.rdatatype.SOA, flags=0))
        records = list(answer.answers())
    except NotGiven as exc:
        raise TransferFailed(_message(where, exc), is_refused=exc.code not in _PASSING) from exc
    except BadMessage as exc:
        raise TransferFailed(_message(where, exc), is_refused=True) from exc
    except Broken as exc:  # some servers close the connection if the client has no certificate
        message = _message(where, exc)
        if primary.tls is not None and not primary.tls.own:
            message = gettext("{said} The server might require a client certificate from the panel.").format(
                said=message
            )
        raise TransferFailed(message) from exc
    except SourceAway as exc:
        raise TransferFailed(_message(where, exc)) from exc
    except ServerRefused as exc:
        raise TransferFailed(str(exc), is_refused=True) from exc
    if not answer.flags & dns.flags.AA:
        raise _not_authoritative(where, zone)
    for record in records:
        if record.type == rdtypes.SOA and record.name == zone:
            return serial_in(record)
    raise _no_soa(where, zone)


def _message(where: str, exc: Exception) -> str:
    return gettext("{where}: {reason}.").format(where=where, reason=exc)


def _not_authoritative(where: str, zone: str) -> TransferFailed:
    reason = gettext("{where} is not authoritative for {zone}").format(where=where, zone=zone)
    return TransferFailed(reason, is_refused=True)


def _no_soa(where: str, zone: str) -> TransferFailed:
    return TransferFailed(
        gettext("{where} doesn’t have an SOA record for {zone}").format(where=where, zone=zone), is_refused=True
    )


def _answer(primary: Primary, zone: str, address: str, where: str) -> dns.message.Message:
    for attempt in range(ATTEMPTS):
        question = dns.message.make_query(zone, dns.rdatatype.SOA, flags=0)
        if primary.key is not None:
            question.use_tsig(primary.key, algorithm=primary.key.algorithm)
        try:
            answer, over_tcp = dns.query.udp_with_fallback(
                question, address, timeout=SECONDS, port=primary.port, ignore_unexpected=True
            )
            if answer.rcode() == dns.rcode.REFUSED and not over_tcp:  # Knot DNS answers for catalogs only over TCP
                answer = dns.query.tcp(question, address, timeout=SECONDS, port=primary.port)
            return answer
        except dns.exception.Timeout as exc:
            if attempt == ATTEMPTS - 1:
                raise TransferFailed(gettext("{where} didn’t respond.").format(where=where)) from exc
        except dns.tsig.PeerError as exc:
            word = type(exc).__name__.removeprefix("Peer")
            raise TransferFailed(
                gettext("{where} rejected the TSIG key: {word}.").format(where=where, word=word), is_refused=True
            ) from exc
        except (dns.exception.DNSException, ValueError) as exc:
            raise TransferFailed(
                gettext("{where} sent an invalid answer: {exc}").format(where=where, exc=exc), is_refused=True
            ) from exc
        except (OSError, EOFError) as exc:
            raise TransferFailed(gettext("{where} couldn’t be reached: {exc}.").format(where=where, exc=exc)) from exc
    raise AssertionError(where)
