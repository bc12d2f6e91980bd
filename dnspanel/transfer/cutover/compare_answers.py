"""Compare an old server's answers with those of the panel's nodes, before a zone's delegation moves.

Both sides get a query for every name and type that the zone has in the panel. More queries, for the apex and a made-up
name, show whether the old zone is signed or has a wildcard that is missing here. Uses no database models.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from random import Random

import dns.rcode

from dnspanel.fleet.lookups.public_answers import text_of_wire
from dnspanel.transfer.cutover import dns_probe
from dnspanel.transfer.cutover.dns_probe import Answer, Found, Question, Server
from dnspanel.transfer.exports.exported_rows import Row
from dnspanel.transfer.exports.query_file import query_types
from dnspanel.transfer.models import DifferenceKind
from replication.dns import names, rdata, rdtypes

# Queried at every apex, including types that the zone does not have.
_APEX_TYPES = (
    *(rdtypes.SOA, rdtypes.NS, rdtypes.A, rdtypes.AAAA, rdtypes.MX, rdtypes.TXT, rdtypes.CAA, rdtypes.DNSKEY),
)
_MOST_TEXT = 2000
_QUERIES_AT_ONCE = 4000


@dataclass(frozen=True, slots=True)
class Difference:
    """A query that the old server and a node answer differently, with both answers as readable text."""

    zone: str
    name: str
    type: int
    kind: DifferenceKind
    node: str
    old: str
    new: str


def questions_of(zone: str, rows: Iterable[Row]) -> list[Question]:
    """Return the queries to compare for a zone, including those for the apex and a made-up name, each once.

    Disabled records are included, because the old server may serve them. A made-up label replaces the `*` of wildcards.
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
    """Yield each difference between the old server's and a new server's answers. Each zone is (name, queries)."""
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
    """Return the kind of difference between the two answers, or None if they are equivalent."""
    if old is new:
        return None
    if old.rcode is None or new.rcode is None:
        return DifferenceKind.SILENT
    ours, theirs = _in_zone(zone, new), _in_zone(zone, old)
    if (old.rcode, old.is_authoritative) != (new.rcode, new.is_authoritative) and not _leaves(zone, name, old, new):
        return DifferenceKind.RCODE
    if {(each.name, each.type, each.rdata) for each in theirs} != {(each.name, each.type, each.rdata) for each in ours}:
        if name == zone and type == rdtypes.SOA:
            return DifferenceKind.SERIAL
        if name == zone and type == rdtypes.NS:
            return DifferenceKind.NAMESERVERS
        return DifferenceKind.RECORDS
    return DifferenceKind.TTL if set(theirs) != set(ours) else None


def _in_zone(zone: str, answer: Answer) -> tuple[Found, ...]:
    """Return the part of an answer that belongs to the zone. Only some servers follow a CNAME out of the zone."""
    return tuple(each for each in answer.found if names.is_within(each.name, zone))


def _leaves(zone: str, name: str, old: Answer, new: Answer) -> bool:
    """Return True if the aliases in both answers point out of the zone. Data outside the zone isn't compared."""
    return all(_end_of_chain(name, answer) is not None for answer in (old, new)) and all(
        not names.is_within(_end_of_chain(name, answer) or zone, zone) for answer in (old, new)
    )


def _end_of_chain(name: str, answer: Answer) -> str | None:
    """Return the last target of an answer's CNAME chain, or None if the name is not an alias."""
    end = None
    at = name
    for _ in answer.found:
        alias = answer.at(at, rdtypes.CNAME)
        if alias is None or len(alias.rdata) != 1:
            break
        at = end = rdata.from_wire(rdtypes.CNAME, next(iter(alias.rdata)))
    return end


def _text(zone: str, name: str, answer: Answer) -> str:
    """Return an answer as readable text: its records, or the reason why it doesn't have any."""
    if answer.rcode is None:
        return answer.failure
    status = dns.rcode.to_text(dns.rcode.Rcode(answer.rcode))
    if not answer.is_authoritative:
        status += ", not authoritative"
    lines = [
        f"{'' if each.name == name else each.name + ' '}{each.ttl} {rdata.type_to_text(each.type)} {text}"
        for each in _in_zone(zone, answer)
        for text in sorted(text_of_wire(each.type, wire) for wire in each.rdata)
    ]
    if answer.rcode or not answer.is_authoritative or not lines:
        lines.insert(0, status if answer.rcode or not answer.is_authoritative else "no such records")
    return "\n".join(lines)[:_MOST_TEXT]
