"""Answer a query from published RRsets, exactly as PowerDNS answers it from these records. Pure.

The steps have the same order as in PowerDNS: a delegation, the name itself, a DNAME above it, a wildcard, and then
NXDOMAIN. See RFC 1034 section 4.3.2, RFC 4592 and RFC 6672. `tests/oracle/test_gateway_answers.py` compares this
module's answers with PowerDNS's.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

import dns.rcode

from dnspanel.zones.rules.neighbourhood import ancestors_within
from replication.dns import names, rdata, rdtypes
from replication.dns.rrset import Key, RRset

ANY = 255
# PowerDNS stops following a chain of aliases after this many steps.
MAX_STEPS = 10

ADDRESSES = (rdtypes.A, rdtypes.AAAA)
# The types whose targets' addresses are added to the answer.
_LEADS_TO_HOSTS = frozenset({rdtypes.MX, rdtypes.NS, rdtypes.SRV, rdtypes.SVCB, rdtypes.HTTPS})
# PowerDNS sends these only for signed zones, and only with the RRset that they sign.
_SIGNATURES = frozenset({rdtypes.RRSIG})


@dataclass(frozen=True, slots=True)
class Found:
    rcode: dns.rcode.Rcode = dns.rcode.NOERROR
    answer: tuple[RRset, ...] = ()
    authority: tuple[RRset, ...] = ()
    additional: tuple[RRset, ...] = ()
    is_referral: bool = False

    @property
    def is_authoritative(self) -> bool:
        """True if the answer is authoritative. A referral isn't authoritative, unless it follows an alias."""
        return bool(self.answer) or not self.is_referral


class Computed(Exception):
    """Raised if only PowerDNS can compute the answer (ALIAS, LUA), because the published records don't contain it."""


@dataclass(frozen=True, slots=True)
class Near:
    """The RRsets of a zone at a name, at the names above it, and at their wildcards (the names in `names_near`).

    `rrsets` contains only served RRsets. `with_below` has the names with a served RRset at or below them.
    """

    zone: str
    rrsets: Mapping[Key, RRset]
    with_below: Collection[str]
    by_name: Mapping[str, Mapping[int, RRset]] = field(init=False)

    def __post_init__(self) -> None:
        found: dict[str, dict[int, RRset]] = {}
        for (name, type_), rrset in self.rrsets.items():
            found.setdefault(name, {})[type_] = rrset
        object.__setattr__(self, "by_name", found)

    def at(self, name: str) -> Mapping[int, RRset]:
        return self.by_name.get(name, {})

    def exists(self, name: str) -> bool:
        """Return True if the name has records or is an empty non-terminal (RFC 4592 section 2.2.2)."""
        return name in self.by_name or name in self.with_below

    @property
    def soa(self) -> RRset | None:
        """The zone's SOA with the TTL for negative answers (RFC 2308 section 3), or None if the zone has no SOA."""
        found = self.at(self.zone).get(rdtypes.SOA)
        if found is None:
            return None
        return replace(found, ttl=min(found.ttl, int(found.served[0].rsplit(" ", 1)[-1])))


# Maps a name to the RRsets near it, in the zone that answers for the name, or to None if there is no such zone.
Read = Callable[[str], Near | None]
# Maps names of a zone to their A and AAAA.
Addresses = Callable[[str, Collection[str]], Iterable[RRset]]


def names_near(name: str, zone: str) -> list[str]:
    """Return the names in a zone that affect its answer for `name`: the name, its ancestors and their wildcards."""
    above = list(ancestors_within(name, zone))
    return [name, *above, *map(wildcard_below, above)]


def wildcard_below(name: str) -> str:
    """Return the wildcard name directly below a name."""
    return f"*.{name}" if name != names.ROOT else "*."


def look_up(name: str, type: int, read: Read, addresses: Addresses) -> Found | None:
    """Answer a query for a name and type. Return None if the name isn't in a zone that is served here.

    If there are more than MAX_STEPS aliases, the rcode is SERVFAIL. Raise Computed if only PowerDNS can compute the
    answer.
    """
    answer: list[RRset] = []
    at, seen = name, 0
    while seen <= MAX_STEPS:
        near = read(at)
        if near is None:
            return Found(answer=tuple(answer)) if answer else None
        step = _step(near, at, type)
        answer += step.answer
        if step.goes_on_at is None:
            if type in (rdtypes.CNAME, ANY) and answer and step.found.rcode == dns.rcode.NXDOMAIN:  # as PowerDNS
                return Found(answer=tuple(answer))
            found = replace(step.found, answer=tuple(answer))
            return replace(found, additional=tuple(_additional(near.zone, found, addresses)))
        at, seen = step.goes_on_at, seen + 1
    return Found(dns.rcode.SERVFAIL)


@dataclass(frozen=True, slots=True)
class _Step:
    """The part of an answer from one name. `found` completes the answer; `goes_on_at` is an alias's target."""

    answer: tuple[RRset, ...] = ()
    found: Found = Found()
    goes_on_at: str | None = None


def _step(near: Near, name: str, type: int) -> _Step:
    cut = cut_of(near, name, type)
    if cut is not None:
        return _Step(found=Found(authority=(cut,), is_referral=True))
    if near.exists(name):
        return _from_rrsets(near, name, near.at(name), type)
    dname = next(
        (near.at(above)[rdtypes.DNAME] for above in _above(near, name) if rdtypes.DNAME in near.at(above)), None
    )
    if dname is not None:
        return _through_dname(dname, name)
    closest = next(
        (above for above in _above(near, name) if near.exists(wildcard_below(above)) or near.exists(above)), ""
    )
    wildcard = wildcard_below(closest) if closest else ""
    if wildcard and near.exists(wildcard):
        here = {of_type: replace(rrset, name=name) for of_type, rrset in near.at(wildcard).items()}
        return _from_rrsets(near, name, here, type)
    return _Step(found=Found(dns.rcode.NXDOMAIN, authority=_soa_of(near)))


def _above(near: Near, name: str) -> Iterator[str]:
    return ancestors_within(name, near.zone)


def cut_of(near: Near, name: str, type: int) -> RRset | None:
    """Return the NS of the closest delegation at or above a name, or None if the name isn't delegated.

    Delegations can be nested. The DS at a delegation belongs to the parent zone, so a query for it isn't delegated (RFC
    4035 section 3.1.4.1).
    """
    for at in (name, *_above(near, name)):
        if at == near.zone:
            return None
        if rdtypes.NS in near.at(at) and not (at == name and type == rdtypes.DS):
            return near.at(at)[rdtypes.NS]
    return None


def _from_rrsets(near: Near, name: str, here: Mapping[int, RRset], type: int) -> _Step:
    """Answer from the RRsets at a name or wildcard. Raise Computed if only PowerDNS can compute the answer."""
    if rdtypes.LUA in here or (rdtypes.ALIAS in here and type in (*ADDRESSES, ANY)):
        raise Computed
    alias = here.get(rdtypes.CNAME)
    if alias is not None and type != rdtypes.CNAME:  # also for ANY, as PowerDNS does
        return _Step(answer=(alias,), goes_on_at=rdata.targets(rdtypes.CNAME, alias.served[0])[0])
    found = tuple(r for of_type, r in here.items() if of_type == type or (type == ANY and of_type not in _SIGNATURES))
    return _Step(answer=found) if found else _Step(found=Found(authority=_soa_of(near)))


def _through_dname(dname: RRset, name: str) -> _Step:
    """Answer with a DNAME and its synthesized CNAME, or YXDOMAIN if the new name is too long (RFC 6672 section 3.1)."""
    target = rdata.targets(rdtypes.DNAME, dname.served[0])[0]
    below = name.removesuffix(dname.name if dname.name != names.ROOT else names.ROOT)
    new_name = below + (target if target != names.ROOT else "")
    if len(names.labels(new_name)) + sum(map(len, names.labels(new_name))) + 1 > names.MAX_WIRE:
        return _Step(answer=(dname,), found=Found(dns.rcode.YXDOMAIN))
    alias = RRset(name, rdtypes.CNAME, dname.ttl, (new_name,))
    return _Step(answer=(dname, alias), goes_on_at=new_name)


def _soa_of(near: Near) -> tuple[RRset, ...]:
    return () if near.soa is None else (near.soa,)


def _additional(zone: str, found: Found, addresses: Addresses) -> Iterator[RRset]:
    """Yield A and AAAA records, including glue, that the answer lacks for its hosts inside the zone."""
    hosts: dict[str, None] = {}
    for rrset in (*found.answer, *found.authority):
        if rrset.type in _LEADS_TO_HOSTS:
            hosts.update(dict.fromkeys(host for text in rrset.served for host in _hosts(rrset, text)))
    inside = [host for host in hosts if names.is_within(host, zone)]
    sent = {(rrset.name, rrset.type) for rrset in found.answer}
    if inside:
        yield from (rrset for rrset in addresses(zone, inside) if (rrset.name, rrset.type) not in sent)


def _hosts(rrset: RRset, text: str) -> Iterator[str]:
    """Yield the hosts that a record points to. In SVCB and HTTPS, "." is the owner (RFC 9460 section 2.5.2)."""
    for target in rdata.targets(rrset.type, text):
        is_owner = target == names.ROOT and rrset.type in (rdtypes.SVCB, rdtypes.HTTPS)
        yield rrset.name if is_owner else target
