"""Query each node for a zone's DNSKEY records and serial, and validate the answers."""

import time
from collections.abc import Collection, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

import dns.dnssec
import dns.flags
import dns.message
import dns.rcode
import dns.rrset

from dnspanel.fleet.dnssec.answer_signatures import MOST_KEYS, NotSigned, validate, zone_keys
from dnspanel.fleet.dnssec.dns_exchange import NoAnswer, exchange, name_of, rcode_text, rrset_at
from dnspanel.fleet.models import Node, NodeState
from dnspanel.texts import gettext
from dnspanel.zones.dnssec import queries
from dnspanel.zones.models import Zone
from replication.dns import rdtypes

# Time for all nodes together, and the maximum number of nodes. A person viewing a page waits for the answers.
SECONDS = 3.0
MOST_NODES = 64
_AT_ONCE = 16

Server = tuple[str, str, int]  # name, address, port
_Signer = tuple[int, int, bytes]  # flags, algorithm, public part


class Verdict(StrEnum):
    """The result of validating a node's answers."""

    VALIDATES = "validates"
    UNSIGNED = "unsigned"  # without DNSKEY records
    BOGUS = "bogus"
    SILENT = "silent"  # no answer, or none that counts


@dataclass(frozen=True, slots=True)
class NodeAnswer:
    """The answer of one node. `reason` is a clause that explains why it is bogus or missing."""

    node: str
    verdict: Verdict
    reason: str = ""
    serial: int | None = None
    tags: tuple[int, ...] = ()  # of its DNSKEY records
    signature_ends: datetime | None = None  # of the signature over the SOA


class _Unusable(Exception):
    """Raised if an answer doesn't count. The message is a clause that explains why."""


def answering_nodes() -> list[Server]:
    """Return up to MOST_NODES nodes (not ring 0) that serve zones, sorted by name."""
    nodes = Node.objects.filter(state__in=(NodeState.ACTIVE, NodeState.DRAINED), is_ring0=False).order_by("name")
    return [(node.name, str(node.dns_address), node.dns_port) for node in nodes[:MOST_NODES]]


def ask_nodes(zone: Zone, *, now: datetime) -> list[NodeAnswer]:
    """Query up to MOST_NODES nodes (not ring 0) within SECONDS. Return the answers sorted by node name.

    Queries go to the addresses that an administrator set, without recursion. Answers are validated with the panel's
    keys for the zone and the keys of its other signers. A node's failure is returned as its answer, not raised.
    """
    servers = answering_nodes()
    signers = [
        *((key.flags, key.algorithm, key.public) for key in queries.keys_of(zone)),
        *((key.flags, key.algorithm, key.public) for key in queries.other_keys_of(zone)),
    ]
    if not servers:
        return []
    deadline = time.monotonic() + SECONDS
    with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="answers") as pool:
        return list(pool.map(lambda server: _ask(server, zone.name, signers, now, deadline), servers))


def _ask(server: Server, zone_name: str, signers: Sequence[_Signer], now: datetime, deadline: float) -> NodeAnswer:
    node, address, port = server
    try:
        soa_answer = _answer(address, port, zone_name, rdtypes.SOA, deadline)
        soa = rrset_at(soa_answer.answer, name_of(zone_name), rdtypes.SOA)
        if soa is None:
            raise _Unusable(gettext("no SOA record for the zone"))
        key_answer = _answer(address, port, zone_name, rdtypes.DNSKEY, deadline)
    except (NoAnswer, _Unusable) as exc:
        return NodeAnswer(node, Verdict.SILENT, str(exc))
    serial = int(soa[0].serial)
    found = rrset_at(key_answer.answer, name_of(zone_name), rdtypes.DNSKEY)
    if found is None:
        return NodeAnswer(node, Verdict.UNSIGNED, serial=serial)
    if len(found) > MOST_KEYS:
        return NodeAnswer(
            node, Verdict.BOGUS, gettext("more than {most_keys} DNSKEY records").format(most_keys=MOST_KEYS), serial
        )
    tags = tuple(sorted(dns.dnssec.key_id(key) for key in zone_keys(found)))
    try:
        ends = _validate_soa(zone_name, soa_answer, soa, key_answer, found, signers, now.timestamp())
    except NotSigned as exc:
        return NodeAnswer(node, Verdict.BOGUS, str(exc), serial, tags)
    return NodeAnswer(node, Verdict.VALIDATES, "", serial, tags, datetime.fromtimestamp(ends, UTC))


def _answer(address: str, port: int, name: str, type: int, deadline: float) -> dns.message.Message:
    answer = exchange(address, name, type, deadline=deadline, port=port, dnssec=True)
    if answer.rcode() != dns.rcode.NOERROR:
        raise _Unusable(gettext("response code {answer}").format(answer=rcode_text(answer)))
    if not answer.flags & dns.flags.AA:
        raise _Unusable(gettext("not authoritative"))
    return answer


def _validate_soa(  # noqa: PLR0913  # the answers that validate each other
    zone_name: str,
    soa_answer: dns.message.Message,
    soa: dns.rrset.RRset,
    key_answer: dns.message.Message,
    dnskey: dns.rrset.RRset,
    signers: Collection[_Signer],
    now: float,
) -> int:
    """Return the expiry time of the signature over the SOA. Raise NotSigned if no signature is valid.

    The SOA must be signed by a key of the DNSKEY RRset, and the DNSKEY RRset by a key in `signers`.
    """
    keys = zone_keys(dnskey)
    known = [key for key in keys if (int(key.flags), int(key.algorithm), bytes(key.key)) in signers]
    if not known:
        raise NotSigned(gettext("the DNSKEY records don’t contain any of the panel’s keys"))
    validate(key_answer.answer, dnskey, zone_name, known, now)
    return validate(soa_answer.answer, soa, zone_name, keys, now)
