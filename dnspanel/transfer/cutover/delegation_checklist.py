"""Create the checklist of steps before and after a zone's delegation moves to the panel's nodes.

The data comes from the zone, the old server, and the parent's own servers, which a resolver finds. A point that
couldn't be checked has the verdict "not asked".
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from dnspanel.texts import gettext, ngettext
from dnspanel.transfer.cutover.dns_probe import Answer, Server
from dnspanel.transfer.cutover.parent_servers import Delegation, Resolver
from dnspanel.transfer.exports.exported_rows import Row
from replication.dns import names, rdata, rdtypes
from replication.dns.rrset import Serial

LONG_TTL = 3600
_MOST_LISTED = 20


class Verdict(StrEnum):
    """The result of one point of the checklist: fine, to do, or not asked."""

    FINE = "fine"
    TO_DO = "to do"
    UNKNOWN = "not asked"


_MARKS = {Verdict.FINE: "[x]", Verdict.TO_DO: "[ ]", Verdict.UNKNOWN: "[?]"}


@dataclass(frozen=True, slots=True)
class Point:
    """A point of the checklist: a message, and its details as lines."""

    code: str
    verdict: Verdict
    message: str
    lines: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        return {"code": self.code, "verdict": self.verdict, "sentence": self.message, "lines": list(self.lines)}

    @classmethod
    def from_json(cls, stored: dict[str, Any]) -> "Point":
        return cls(stored["code"], Verdict(stored["verdict"]), stored["sentence"], tuple(stored["lines"]))


@dataclass(frozen=True, slots=True)
class Sides:
    """A zone's data on both sides: the panel's rows, the old server's SOA, and the number of unexpected differences."""

    zone: str
    rows: Sequence[Row]
    old_soa: Answer
    differences: int


def checklist(sides: Sides, nodes: Sequence[Server], resolver: Resolver, now: datetime) -> list[Point]:
    """Return the points of the checklist, in the order in which people should complete them."""
    servers = list(rdata.fold_all(rdtypes.NS, _texts(sides.rows, sides.zone, rdtypes.NS)))
    delegation = resolver.delegation(sides.zone)
    return [
        _answers(sides),
        _serial(sides),
        _long_ttls(sides, now),
        _addresses(servers, nodes, resolver),
        *parent_points(sides.zone, servers, _addresses_within(sides, servers), delegation),
        _ds(sides, delegation),
    ]


def text_of(zone: str, points: Iterable[Point]) -> str:
    """Return the checklist as text for an email."""
    lines: list[str] = [gettext("Delegation checklist for {zone}").format(zone=zone)]
    for point in points:
        lines.append(f"{_MARKS[point.verdict]} {point.message}")
        lines.extend(f"    {line}" for line in point.lines)
    return "\n".join(lines) + "\n"


def _answers(sides: Sides) -> Point:
    if sides.differences:
        message = ngettext(
            "{count:,} answer from our nodes differs from the old server’s.",
            "{count:,} answers from our nodes differ from the old server’s.",
            sides.differences,
        ).format(count=sides.differences)
        return Point("answers", Verdict.TO_DO, message)
    return Point("answers", Verdict.FINE, gettext("Our nodes give the same answers as the old server."))


def _serial(sides: Sides) -> Point:
    theirs = _serial_of(sides.old_soa, sides.zone)
    [ours] = [int(text.split(" ")[2]) for text in _texts(sides.rows, sides.zone, rdtypes.SOA)] or [0]
    if theirs is None:
        return Point(
            "serial",
            Verdict.UNKNOWN,
            gettext("The old server’s serial is unknown. Our serial must be higher, or secondaries won’t update."),
        )
    if Serial(ours) < Serial(theirs):
        message = gettext(
            "Increase our serial {ours}. The old server’s serial {theirs} is higher, so secondaries wouldn’t update."
        ).format(ours=ours, theirs=theirs)
        return Point("serial", Verdict.TO_DO, message)
    return Point(
        "serial",
        Verdict.FINE,
        gettext("Our serial {ours} isn’t lower than the old server’s serial {theirs}.").format(
            ours=ours, theirs=theirs
        ),
    )


def _serial_of(answer: Answer, zone: str) -> int | None:
    soa = answer.at(zone, rdtypes.SOA)
    if soa is None or len(soa.rdata) != 1:
        return None
    return int(rdata.from_wire(rdtypes.SOA, next(iter(soa.rdata))).split(" ")[2])


def _long_ttls(sides: Sides, now: datetime) -> Point:
    """Return the point about TTLs over an hour, which should be lowered before the move because of caches."""
    long = [row for row in sides.rows if row[2] > LONG_TTL]
    if not long:
        return Point("ttl", Verdict.FINE, gettext("No TTL is longer than an hour."))
    message = gettext("{name} {type}: {ttl} s, cached until {until} UTC if lowered now")
    lines = [
        message.format(
            name=names.relative_text(name, sides.zone),
            type=rdata.type_to_text(type_),
            ttl=ttl,
            until=f"{now + timedelta(seconds=ttl):%Y-%m-%d %H:%M}",
        )
        for name, type_, ttl, *_ in sorted(long, key=lambda row: -row[2])[:_MOST_LISTED]
    ]
    if len(long) > _MOST_LISTED:
        lines.append(gettext("and {count:,} more with lower TTLs").format(count=len(long) - _MOST_LISTED))
    message = ngettext(
        "On the old server, lower TTLs that are longer than an hour: {count:,} RRset.",
        "On the old server, lower TTLs that are longer than an hour: {count:,} RRsets.",
        len(long),
    ).format(count=len(long))
    return Point("ttl", Verdict.TO_DO, message, tuple(lines))


def _addresses(servers: Sequence[str], nodes: Sequence[Server], resolver: Resolver) -> Point:
    """Check that the names in the zone's NS records currently resolve to the nodes' addresses."""
    ours = {node.address for node in nodes}
    found = {server: resolver.addresses(server) for server in servers}
    if any(addresses is None for addresses in found.values()):
        return Point("nameservers", Verdict.UNKNOWN, gettext("The name server addresses haven’t been checked."))
    astray = [
        gettext("{server} resolves to {addresses}").format(server=server, addresses=", ".join(sorted(addresses)))
        if addresses
        else gettext("{server} doesn’t resolve to a public address").format(server=server)
        for server, addresses in found.items()
        if not addresses or not addresses <= ours
    ]
    if astray:
        message = gettext("Point all of the zone’s name servers to our nodes ({ours}).").format(
            ours=", ".join(sorted(ours))
        )
        return Point("nameservers", Verdict.TO_DO, message, tuple(astray))
    return Point("nameservers", Verdict.FINE, gettext("All of the zone’s name servers point to our nodes."))


def parent_points(
    zone: str, servers: Sequence[str], addresses: Mapping[str, Collection[str]], delegation: Delegation | None
) -> list[Point]:
    """Check that the parent delegates to the zone's name servers, and has glue for name servers inside the zone."""
    return [_delegation(servers, delegation), _glue(zone, servers, addresses, delegation)]


def _addresses_within(sides: Sides, servers: Sequence[str]) -> dict[str, set[str]]:
    return {
        server: {*_texts(sides.rows, server, rdtypes.A), *_texts(sides.rows, server, rdtypes.AAAA)}
        for server in servers
        if names.is_within(server, sides.zone)
    }


def _delegation(servers: Sequence[str], delegation: Delegation | None) -> Point:
    if delegation is None:
        return Point("parent", Verdict.UNKNOWN, gettext("The delegation at the parent hasn’t been checked."))
    theirs, ours = delegation.nameservers, frozenset(servers)
    if not theirs:
        message = gettext("{parent} doesn’t delegate the zone.").format(parent=delegation.parent)
        return Point(
            "parent",
            Verdict.TO_DO,
            message,
            tuple(gettext("add {server}").format(server=server) for server in sorted(ours)),
        )
    if theirs == ours:
        return Point(
            "parent",
            Verdict.FINE,
            gettext("{parent} delegates to the zone’s name servers.").format(parent=delegation.parent),
        )
    lines = [gettext("remove {server}").format(server=server) for server in sorted(theirs - ours)]
    lines += [gettext("add {server}").format(server=server) for server in sorted(ours - theirs)]
    lines.append(gettext("resolvers will follow within {ttl} s (TTL at the parent)").format(ttl=delegation.ttl))
    message = gettext("Change the name servers at {parent}.").format(parent=delegation.parent)
    return Point("parent", Verdict.TO_DO, message, tuple(lines))


def _glue(
    zone: str, servers: Sequence[str], addresses: Mapping[str, Collection[str]], delegation: Delegation | None
) -> Point:
    """Check the glue, because resolvers can't find name servers inside the zone without it."""
    inside = [server for server in servers if names.is_within(server, zone)]
    if not inside:
        return Point("glue", Verdict.FINE, gettext("No glue is needed because no name server is inside the zone."))
    expected = {server: set(addresses.get(server, ())) for server in inside}
    lines = [
        f"{server} {', '.join(sorted(found))}"
        if found
        else gettext("{server} doesn’t have an address in the zone").format(server=server)
        for server, found in expected.items()
    ]
    if delegation is None:
        return Point("glue", Verdict.UNKNOWN, gettext("The glue at the parent hasn’t been checked."), tuple(lines))
    if all(found and delegation.glue.get(server) == found for server, found in expected.items()):
        return Point("glue", Verdict.FINE, gettext("{parent} has the correct glue.").format(parent=delegation.parent))
    return Point(
        "glue", Verdict.TO_DO, gettext("Add this glue at {parent}.").format(parent=delegation.parent), tuple(lines)
    )


def _ds(sides: Sides, delegation: Delegation | None) -> Point:
    if delegation is None or delegation.ds is None:
        return Point("ds", Verdict.UNKNOWN, gettext("The DS at the parent hasn’t been checked."))
    if not delegation.ds:
        return Point(
            "ds", Verdict.FINE, gettext("The parent doesn’t have a DS record, so the zone doesn’t need to be signed.")
        )
    keys = _texts(sides.rows, sides.zone, rdtypes.DNSKEY)
    message = gettext(
        "The zone is signed, and the parent has DS records. Import the keys, or remove the DS records and "
        "wait {ds_ttl} s before you move the zone. Otherwise validating resolvers won’t be able to "
        "resolve it."
    ).format(ds_ttl=delegation.ds_ttl)
    lines = [*(f"DS {text}" for text in delegation.ds), *(f"DNSKEY {text}" for text in keys)]
    return Point("ds", Verdict.TO_DO, message, tuple(lines))


def _texts(rows: Iterable[Row], name: str, type: int) -> list[str]:
    """Return the served rdata of one RRset, without its disabled records."""
    return [text for row in rows if row[0] == name and row[1] == type for text in row[3] if text not in row[4]]
