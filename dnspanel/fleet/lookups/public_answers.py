"""Query the nodes and public resolvers for records, to find those that still answer with old values."""

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import dns.rcode
from django.conf import settings

from dnspanel.fleet.dnssec.dns_exchange import NoAnswer, exchange, name_of, rcode_text, rrset_at
from dnspanel.fleet.dnssec.node_answers import Server, answering_nodes
from dnspanel.texts import gettext
from replication.dns import rdata, rdtypes
from replication.errors import ReplicationError
from replication.wire.protocol import split_resolver

SECONDS = 4.0
MOST_RECORDS = 5
MOST_RESOLVERS = 8
_AT_ONCE = 32

# A name and type, with the values that nodes should serve: none if the RRset was deleted.
Published = tuple[str, int, tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class ServerAnswer:
    """The answer of one node or resolver, and the remaining seconds in its cache (for a node, the TTL)."""

    server: str
    is_node: bool
    values: tuple[str, ...] = ()
    seconds: int | None = None
    detail: str = ""  # the response code, or the reason why there is no answer
    is_current: bool | None = None  # None: no usable answer


def look_up_answers(records: Sequence[Published]) -> list[list[ServerAnswer]]:
    """Query all nodes and up to MOST_RESOLVERS public resolvers for each record, within SECONDS. Nodes come first.

    Network errors are returned as answers and never raised.
    """
    deadline = time.monotonic() + SECONDS
    resolvers = [(text, *split_resolver(text)) for text in settings.PUBLIC_RESOLVERS[:MOST_RESOLVERS]]
    servers = [*((each, True) for each in answering_nodes()), *((each, False) for each in resolvers)]
    with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="public") as pool:
        running = [[pool.submit(_ask, *server, record, deadline) for server in servers] for record in records]
        return [[each.result() for each in of_record] for of_record in running]


def _ask(server: Server, is_node: bool, record: Published, deadline: float) -> ServerAnswer:  # noqa: FBT001  (a pair)
    (name, address, port), (owner_name, type, published) = server, record
    try:
        answer = exchange(address, owner_name, type, deadline=deadline, port=port, is_recursive=not is_node)
    except NoAnswer as exc:
        return ServerAnswer(name, is_node, detail=str(exc))
    if answer.rcode() not in (dns.rcode.NOERROR, dns.rcode.NXDOMAIN):
        return ServerAnswer(name, is_node, detail=rcode_text(answer))
    owner = name_of(owner_name)
    found = rrset_at(answer.answer, owner, type) or rrset_at(answer.answer, owner, rdtypes.CNAME)
    if found is None:
        # A negative answer is cached for the TTL of its SOA record (RFC 2308 section 5).
        seconds = next((each.ttl for each in answer.authority if each.rdtype == rdtypes.SOA), None)
        detail = rcode_text(answer) if answer.rcode() else gettext("no such records")
        return ServerAnswer(name, is_node, (), seconds, detail, not published)
    values = tuple(sorted(text_of_wire(found.rdtype, each.to_digestable()) for each in found))
    same = {*rdata.fold_all(found.rdtype, values)} == {*rdata.fold_all(type, published)}
    return ServerAnswer(name, is_node, values, found.ttl, is_current=same and found.rdtype == type)


def text_of_wire(type: int, wire: bytes) -> str:
    """Convert rdata from a server to canonical text, or to the generic form (RFC 3597) if the panel can't store it."""
    try:
        return rdata.from_wire(type, wire)
    except ReplicationError:
        return f"\\# {len(wire)} {wire.hex()}"
