"""Query every server of a zone's parent for the zone's DS records."""

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import dns.flags
import dns.message
import dns.rcode
import dns.rrset

from dnspanel.fleet.dnssec.dns_exchange import NoAnswer, exchange, has_route, name_of, rcode_text, rrset_at, text_of
from dnspanel.fleet.dnssec.resolver import Resolver, Zone
from dnspanel.outbound import is_allowed
from dnspanel.texts import gettext, joined
from replication.dns import names, rdtypes

# A parent with more name servers or addresses cannot be queried completely.
MOST_SERVERS, MOST_ADDRESSES = 32, 64
MOST_DS = 64
SECONDS = 10.0
_AT_ONCE = 8
_MOST_NAMED = 3  # servers, in a message
_MOST_TTL = 2**31 - 1


@dataclass(frozen=True, slots=True)
class ParentLook:
    """The DS records at each name server of a parent at one point in time."""

    parent: str  # the canonical name according to DNS; empty if unknown
    servers: Mapping[str, tuple[str, ...]]  # "name address" → DS as `key_material.ds_text` writes them; () for none
    ttl: int | None  # the longest TTL with which these records, or their absence, may be cached
    silent: str = ""  # a sentence that explains why some server's records are unknown; empty if every server answered


@dataclass(frozen=True, slots=True)
class Server:
    """A name server and one of its addresses."""

    name: str
    address: str

    def __str__(self) -> str:
        return f"{self.name} {self.address}"


@dataclass(frozen=True, slots=True)
class Probe:
    """The settings of a query: resolver for host names, allowed networks, port, deadline and thread pool."""

    resolver: Resolver
    networks: Sequence[str]
    port: int
    deadline: float
    pool: ThreadPoolExecutor


class Unusable(Exception):
    """Raised if a server's answer doesn't count. The message is a clause that explains why."""


def look_at_parent(zone_name: str, *, resolver: Resolver, networks: Sequence[str], port: int = 53) -> ParentLook:
    """Query all servers of a zone's parent, at each of their addresses, for the zone's DS records.

    Network errors are never raised. `silent` describes them, and the other fields contain the data that was found
    despite the errors.

    1. A resolver finds the parent zone and its name servers. The resolver's answers about DS records don't count.
    2. Every name server must have an address, and the panel must be allowed to connect to all addresses.
    3. Each address is queried, all within SECONDS, unless there are too many servers or addresses. An answer counts if
       it is authoritative and from the parent zone. A server that has the zone itself but not its parent denies the DS.

    If this machine has no route for a family (IPv4 or IPv6), its addresses are left out, provided that every name
    server with such an address also has one of the other family. Otherwise, a panel without IPv6 would never get a
    result. Servers are assumed to have the same data at all addresses.
    """
    deadline = time.monotonic() + SECONDS
    above = names.parent(zone_name)
    if above is None:
        return ParentLook("", {}, None, gettext("The root zone doesn’t have a parent."))
    try:
        parent = resolver.zone_of(above, deadline=deadline)
    except NoAnswer as exc:
        return ParentLook(
            "", {}, None, gettext("{zone_name}’s parent couldn’t be found: {exc}.").format(zone_name=zone_name, exc=exc)
        )
    if len(parent.nameservers) > MOST_SERVERS:
        return _too_many(parent.name)
    with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="parent") as pool:
        probe = Probe(resolver, networks, port, deadline, pool)
        servers, faults = servers_of(parent, probe)
        return _look_at(zone_name, parent.name, servers, faults, probe)


def look_at_nameservers(
    zone_name: str,
    parent: str,
    nameservers: Mapping[str, tuple[str, ...]],
    *,
    resolver: Resolver,
    networks: Sequence[str],
    port: int = 53,
) -> ParentLook:
    """Query these name servers of the parent like `look_at_parent`. A resolver finds missing addresses."""
    if len(nameservers) > MOST_SERVERS:
        return _too_many(parent)
    deadline = time.monotonic() + SECONDS
    zone = Zone(parent, tuple(sorted(nameservers)))
    with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="parent") as pool:
        probe = Probe(resolver, networks, port, deadline, pool)
        servers, faults = servers_of(zone, probe, known=nameservers)
        return _look_at(zone_name, parent, servers, faults, probe)


def _too_many(parent: str) -> ParentLook:
    message = gettext("{parent} has more than {most_servers} name servers.")
    return ParentLook(parent, {}, None, message.format(parent=parent, most_servers=MOST_SERVERS))


def _look_at(zone_name: str, parent: str, servers: Sequence[Server], faults: list[str], probe: Probe) -> ParentLook:
    if len(servers) > MOST_ADDRESSES:
        many = gettext("The name servers for {parent} have more than {most} addresses.").format(
            parent=parent, most=MOST_ADDRESSES
        )
        return ParentLook(parent, {}, None, many)
    answers = list(probe.pool.map(lambda server: _ask(server, zone_name, parent, probe.port, probe.deadline), servers))
    found: dict[str, tuple[str, ...]] = {}
    ttls = []
    for server, answer in zip(servers, answers, strict=True):
        if isinstance(answer, str):
            faults.append(joined(": ", (server, answer)))
        else:
            found[str(server)], ttl = answer
            ttls.append(ttl)
    silent = describe_faults(gettext("Some servers for {parent} didn’t respond").format(parent=parent), faults)
    return ParentLook(parent, found, max(ttls, default=None), silent)


def describe_faults(head: str, faults: Sequence[str]) -> str:
    """Return a sentence with `head`, the first faults and the number of others, or "" if there are no faults."""
    if not faults:
        return ""
    named = list(faults[:_MOST_NAMED])
    if len(faults) > _MOST_NAMED:
        named.append(gettext("and {count} more").format(count=len(faults) - _MOST_NAMED))
    return gettext("{head}: {faults}.").format(head=head, faults=joined("; ", named))


def servers_of(
    zone: Zone, probe: Probe, known: Mapping[str, tuple[str, ...]] | None = None
) -> tuple[list[Server], list[str]]:
    """Return a zone's name servers at each of their addresses, and messages about servers that can't be used.

    A server can't be used if no address is found, or if the panel isn't allowed to connect to one of its addresses. The
    resolver finds addresses that are missing from `known`. Addresses without a route are omitted (`_with_route`).
    """

    def addresses(host: str) -> tuple[str, ...] | str:
        if known and known.get(host):
            return known[host]
        try:
            return probe.resolver.addresses(host, deadline=probe.deadline) or gettext("no address")
        except NoAnswer as exc:
            return str(exc)

    servers: list[Server] = []
    faults: list[str] = []
    for host, found in zip(zone.nameservers, probe.pool.map(addresses, zone.nameservers), strict=True):
        if isinstance(found, str):
            faults.append(joined(": ", (host, found)))
        elif not all(is_allowed(address, probe.networks) for address in found):
            faults.append(gettext("{host} doesn’t have a public address").format(host=host))
        else:
            servers += [Server(host, address) for address in found]
    return _with_route(servers, probe.port), faults


def _with_route(servers: list[Server], port: int) -> list[Server]:
    """Omit addresses of a family that this machine has no route to, if each server still has another address."""
    for is_ipv6 in (True, False):
        of_family = [server for server in servers if (":" in server.address) is is_ipv6]
        others = [server for server in servers if (":" in server.address) is not is_ipv6]
        is_left_out = {server.name for server in of_family} <= {server.name for server in others}
        if of_family and is_left_out and not any(has_route(server.address, port) for server in of_family):
            return others
    return servers


def _ask(server: Server, zone_name: str, parent: str, port: int, deadline: float) -> tuple[tuple[str, ...], int] | str:
    """Return a server's DS records and their TTL, or a clause that explains why the server's answer doesn't count."""
    try:
        answer = exchange(server.address, zone_name, rdtypes.DS, deadline=deadline, port=port)
        if answer.rcode() not in (dns.rcode.NOERROR, dns.rcode.NXDOMAIN):
            raise Unusable(rcode_text(answer))
        if not answer.flags & dns.flags.AA:
            raise Unusable(gettext("not authoritative for {parent}").format(parent=parent))
        found = rrset_at(answer.answer, name_of(zone_name), rdtypes.DS)
        if found is None:
            return (), _negative_ttl(answer, parent)
        if len(found) > MOST_DS:
            raise Unusable(gettext("more than {most_ds} DS records").format(most_ds=MOST_DS))
        return ds_texts(found), _ttl(found.ttl)
    except (NoAnswer, Unusable) as exc:
        return str(exc)


def ds_texts(rrset: dns.rrset.RRset) -> tuple[str, ...]:
    """Return the DS records in the format of `key_material.ds_text`, sorted."""
    return tuple(
        sorted(f"{item.key_tag} {int(item.algorithm)} {int(item.digest_type)} {item.digest.hex()}" for item in rrset)
    )


def _negative_ttl(answer: dns.message.Message, parent: str) -> int:
    """Return the seconds that caches keep a negative answer (RFC 2308 section 5). Raise Unusable for other answers."""
    soa = next((each for each in answer.authority if each.rdtype == rdtypes.SOA), None)
    if soa is None or answer.answer:
        raise Unusable(gettext("no DS records and no denial from {parent}").format(parent=parent))
    if text_of(soa.name) != parent:
        raise Unusable(gettext("answer from {name} instead of {parent}").format(name=text_of(soa.name), parent=parent))
    return min(_ttl(soa.ttl), _ttl(soa[0].minimum))


def _ttl(seconds: int) -> int:
    """Return a TTL, or 0 if its highest bit is set (RFC 2181 section 8)."""
    return seconds if seconds <= _MOST_TTL else 0
