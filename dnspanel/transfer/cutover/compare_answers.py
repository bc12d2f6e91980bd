"""Answers of an old server and of our nodes, compared before a zone's delegation moves. No models here.

Every name and type that the zone has here is asked of both sides, and a few
more at the apex and at a made-up name, which reveal a signed zone or a wildcard
that we do not have.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from random import Random

import dns.rcode

from dnspanel.transfer.cutover import dns_probe
from dnspanel.transfer.cutover.dns_probe import Answer, Found, Question, Server
from dnspanel.transfer.exports.exported_rows import Row
from dnspanel.transfer.exports.query_file import query_types
from dnspanel.transfer.models import DifferenceKind
from replication.dns import names, rdata, rdtypes
from replication.errors import ReplicationError

__all__ = ["Difference", "Server", "compare_zones", "questions_of"]

# Queried at every apex, whether the zone has them or not.
_APEX_TYPES = (
    *(rdtypes.SOA, rdtypes.NS, rdtypes.A, rdtypes.AAAA, rdtypes.MX, rdtypes.TXT, rdtypes.CAA, rdtypes.DNSKEY),
)
_MOST_TEXT = 2000
_QUERIES_AT_ONCE = 4000


@dataclass(frozen=True, slots=True)
class Difference:
    """One question that the old server and a node answer differently; both sides as people read them."""

    zone: str
    name: str
    type: int
    kind: DifferenceKind
    node: str
    old: str
    new: str


def questions_of(zone: str, rows: Iterable[Row]) -> list[Question]:
    """Return what to ask about a zone: each name and type once, disabled ones too, which the old server may
    well serve.
    """
    chance = Random(zone)
    probe = f"x-{chance.getrandbits(32):08x}"
    queries = dict.fromkeys((zone, type_) for type_ in _APEX_TYPES)
    for row in rows:
        name = row[0] if not row[0].startswith("*.") else probe + row[0][1:]
        queries.update(dict.fromkeys((name, type_) for type_ in query_types(row)))
    queries[f"{probe}.{zone}" if zone != names.ROOT else f"{probe}.", rdtypes.A] = None
    return list(queries)


def compare_zones(
    zones: Sequence[tuple[str, Sequence[Question]]], old: Server, new: Sequence[Server]
) -> Iterator[Difference]:
    """Yield what the old server and each of the new ones answer differently about these zones (name, questions)."""
    flat = ((zone, question) for zone, questions in zones for question in questions)
    while queries := list(islice(flat, _QUERIES_AT_ONCE)):
        by_old, *by_new = dns_probe.ask([old, *new], [question for _, question in queries])
        for number, (zone, question) in enumerate(queries):
            for server, answers in zip(new, by_new, strict=True):
                difference = _difference(zone, question, server.name, by_old[number], answers[number])
                if difference is not None:
                    yield difference


def _difference(zone: str, question: Question, node: str, old: Answer, new: Answer) -> Difference | None:
    name, type_ = question
    kind = _kind(zone, name, type_, old, new)
    if kind is None:
        return None
    return Difference(zone, name, type_, kind, node, _text(zone, name, old), _text(zone, name, new))


def _kind(zone: str, name: str, type: int, old: Answer, new: Answer) -> DifferenceKind | None:
    """Return how the answers differ; None if they mean the same."""
    if old is new:
        return None
    if old.rcode is None or new.rcode is None:
        return DifferenceKind.SILENT
    ours, theirs = _in_zone(zone, new), _in_zone(zone, old)
    if (old.rcode, old.is_authoritative) != (new.rcode, new.is_authoritative) and not _leaves(zone, name, old, new):
        return DifferenceKind.RCODE
    if {(each.name, each.type, each.rdata) for each in theirs} != {(each.name, each.type, each.rdata) for each in ours}:
        return _kind_of_records(zone, name, type)
    return DifferenceKind.TTL if set(theirs) != set(ours) else None


def _kind_of_records(zone: str, name: str, type: int) -> DifferenceKind:
    if name == zone and type == rdtypes.SOA:
        return DifferenceKind.SERIAL
    if name == zone and type == rdtypes.NS:
        return DifferenceKind.NAMESERVERS
    return DifferenceKind.RECORDS


def _in_zone(zone: str, answer: Answer) -> tuple[Found, ...]:
    """Return the part of an answer that is the zone's own: where a CNAME leads out of it, servers stop or go on."""
    return tuple(each for each in answer.found if names.is_within(each.name, zone))


def _leaves(zone: str, name: str, old: Answer, new: Answer) -> bool:
    """Return True if both follow aliases out of the zone: what they answer from there does not belong to the zone."""
    return all(_end_of_chain(name, answer) is not None for answer in (old, new)) and all(
        not names.is_within(_end_of_chain(name, answer) or zone, zone) for answer in (old, new)
    )


def _end_of_chain(name: str, answer: Answer) -> str | None:
    """Return where the aliases of an answer lead, or None if the name is no alias."""
    end = None
    at = name
    for _ in answer.found:
        alias = answer.at(at, rdtypes.CNAME)
        if alias is None or len(alias.rdata) != 1:
            break
        at = end = rdata.from_wire(rdtypes.CNAME, next(iter(alias.rdata)))
    return end


def _text(zone: str, name: str, answer: Answer) -> str:
    """Return an answer as people read it: its records, or why it has none."""
    if answer.rcode is None:
        return answer.failure
    status = dns.rcode.to_text(dns.rcode.Rcode(answer.rcode))
    if not answer.is_authoritative:
        status += ", not authoritative"
    lines = [
        f"{'' if each.name == name else each.name + ' '}{each.ttl} {rdata.type_to_text(each.type)} {text}"
        for each in _in_zone(zone, answer)
        for text in sorted(_record(each.type, wire) for wire in each.rdata)
    ]
    if answer.rcode or not answer.is_authoritative or not lines:
        lines.insert(0, status if answer.rcode or not answer.is_authoritative else "no such records")
    return "\n".join(lines)[:_MOST_TEXT]


def _record(type: int, wire: bytes) -> str:
    try:
        return rdata.from_wire(type, wire)
    except ReplicationError:  # of a type or in a form that we do not store
        return f"\\# {len(wire)} {wire.hex()}"
