"""Look up a zone's delegation at the parent's own servers."""

from collections.abc import Callable
from dataclasses import dataclass, field
from threading import Lock

import dns.exception
import dns.flags
import dns.message
import dns.name
import dns.query
import dns.rcode
import dns.rdatatype
import dns.resolver

from dnspanel.fleet.dnssec.resolver import system_resolvers
from dnspanel.transfer.cutover import dns_probe
from replication.dns import names, rdata, rdtypes

SECONDS = 2.0
# After this many queries in a row without an answer, the resolver is not asked again.
_PATIENCE = 3
_MOST_SERVERS = 3
_USABLE_RCODES = (dns.rcode.NOERROR, dns.rcode.NXDOMAIN)


@dataclass(frozen=True, slots=True)
class Delegation:
    """A zone's delegation according to the parent zone's servers.

    `nameservers` is empty if the zone isn't delegated. `ds` is None if the query for DS got no usable answer.
    """

    parent: str
    nameservers: frozenset[str] = frozenset()
    ttl: int = 0
    glue: dict[str, set[str]] = field(default_factory=dict)
    ds: tuple[str, ...] | None = None
    ds_ttl: int = 0


class Resolver:
    """A resolver that also finds the servers of parent zones. After _PATIENCE timeouts in a row, it is ignored.

    `address` is empty for the system's own resolvers. Parents' servers are queried on `parent_port`. People choose the
    resolver and the zone's name servers, so `addresses` and the parents' servers are limited to addresses that pass
    `allows`. Thread-safe.
    """

    def __init__(
        self, address: str = "", port: int = 53, *, parent_port: int = 53, allows: Callable[[str], bool]
    ) -> None:
        self._servers = [(address, port)] if address else system_resolvers()
        self._parent_port = parent_port
        self._allows = allows
        self._silences = 0
        self._lock = Lock()
        self._parents: dict[str, tuple[str, list[str]] | None] = {}
        self._addresses: dict[str, frozenset[str] | None] = {}

    def addresses(self, name: str) -> frozenset[str] | None:
        """Return the allowed addresses of a host, or None if the resolver's answer for A or AAAA isn't usable."""
        if name not in self._addresses:
            answers = [self._ask(name, type_) for type_ in (rdtypes.A, rdtypes.AAAA)]
            found = [
                rdata.from_wire(each.type, wire)
                for answer in answers
                for each in (answer.found if answer else ())
                if each.type in (rdtypes.A, rdtypes.AAAA)
                for wire in each.rdata
            ]
            self._addresses[name] = None if None in answers else frozenset(filter(self._allows, found))
        return self._addresses[name]

    def delegation(self, zone: str) -> Delegation | None:
        """Return the zone's delegation according to its parent's servers, or None if no answer is usable."""
        parent = names.parent(zone)
        if parent is None:
            return None
        above = self._zone_at_or_above(parent)
        if above is None:
            return None
        apex, addresses = above
        for address in addresses[:_MOST_SERVERS]:
            answer = _exchange(address, self._parent_port, zone, rdtypes.NS, is_recursive=False)
            if answer is not None and answer.rcode in _USABLE_RCODES:
                return _delegation(zone, apex, answer, _exchange(address, self._parent_port, zone, rdtypes.DS))
        return None

    def _zone_at_or_above(self, name: str) -> tuple[str, list[str]] | None:
        """Return the closest zone at or above a name, with its servers' addresses, or None if it can't be found."""
        with self._lock:
            if name in self._parents:
                return self._parents[name]
        answer = self._ask(name, rdtypes.NS)
        nameservers = answer.at(name, rdtypes.NS) if answer is not None else None
        above = names.parent(name)
        found: tuple[str, list[str]] | None = None
        if nameservers is not None:
            hosts = sorted(rdata.from_wire(rdtypes.NS, wire) for wire in nameservers.rdata)
            found = name, [address for host in hosts for address in sorted(self.addresses(host) or ())]
        elif answer is not None and above is not None:
            found = self._zone_at_or_above(above)
        with self._lock:
            self._parents[name] = found
        return found

    def _ask(self, name: str, type: int) -> dns_probe.Answer | None:
        """Return the resolver's answer, or None if it is unusable, missing, or was missing _PATIENCE times in a row."""
        if self._silences >= _PATIENCE:
            return None
        for address, port in self._servers:
            answer = _exchange(address, port, name, type, is_recursive=True)
            if answer is not None:
                self._silences = 0
                return answer if answer.rcode in _USABLE_RCODES else None  # SERVFAIL only concerns this name
        self._silences += 1
        return None


def _exchange(address: str, port: int, name: str, type: int, *, is_recursive: bool = False) -> dns_probe.Answer | None:
    owner, _ = dns.name.from_wire(names.to_wire(name), 0)
    query = dns.message.make_query(owner, dns.rdatatype.RdataType.make(type), use_edns=0, payload=1232)
    if not is_recursive:
        query.flags &= ~dns.flags.RD
    try:
        message, _ = dns.query.udp_with_fallback(query, address, timeout=SECONDS, port=port, ignore_trailing=True)
    except (dns.exception.DNSException, OSError, EOFError):
        return None
    return dns_probe.answer_of(message)


def _delegation(zone: str, parent: str, answer: dns_probe.Answer, ds: dns_probe.Answer | None) -> Delegation:
    referral = next(
        (each for each in (*answer.found, *answer.authority) if each.type == rdtypes.NS and each.name == zone), None
    )
    glue: dict[str, set[str]] = {}
    for each in answer.additional:
        if each.type in (rdtypes.A, rdtypes.AAAA):
            glue.setdefault(each.name, set()).update(rdata.from_wire(each.type, wire) for wire in each.rdata)
    known = ds.at(zone, rdtypes.DS) if ds is not None else None
    return Delegation(
        parent=parent,
        nameservers=frozenset(rdata.from_wire(rdtypes.NS, wire) for wire in referral.rdata)
        if referral
        else frozenset(),
        ttl=referral.ttl if referral else 0,
        glue=glue,
        ds=None
        if ds is None or ds.rcode not in _USABLE_RCODES
        else _texts_of_ds(known.rdata if known else frozenset()),
        ds_ttl=known.ttl if known else 0,
    )


def _texts_of_ds(wires: frozenset[bytes]) -> tuple[str, ...]:
    return tuple(sorted(rdata.from_wire(rdtypes.DS, wire) for wire in wires))
