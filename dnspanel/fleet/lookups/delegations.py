"""Check over DNS, on request, that delegated servers answer and that parent and child zones list the same servers.

A server is lame if a zone is delegated to it but it doesn't answer for the zone (RFC 9499 section 7): resolvers lose
time, or can't resolve the name. Resolvers prefer the zone's own NS set when they know it (RFC 2181 section 5.4.1), so a
set that differs from the parent's sends them to other servers.
"""

import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import dns.flags
import dns.message
import dns.rcode

from dnspanel.fleet.dnssec.dns_exchange import NoAnswer, exchange, name_of, rcode_text, rrset_at, text_of
from dnspanel.fleet.dnssec.parent_dns import Probe, Server, Unusable, servers_of
from dnspanel.fleet.dnssec.resolver import Resolver, Zone
from dnspanel.texts import gettext
from replication.dns import names, rdtypes

SECONDS = 10.0
MOST_DELEGATIONS = 20
_MOST_SERVERS = 16  # of a delegation, each at this many addresses; more than a referral over UDP holds
_MOST_ADDRESSES = 32
_MOST_NAMED = 20
_AT_ONCE = 8


@dataclass(frozen=True, slots=True)
class Delegation:
    """A zone's name servers in the panel's records, with their addresses if the panel also has records for these.

    `is_own` is True for the NS records at the zone's apex, False for a delegation below it.
    """

    name: str
    servers: tuple[str, ...]
    addresses: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    is_own: bool = False


@dataclass(frozen=True, slots=True)
class DelegationLook:
    """The current state of a delegation in DNS.

    `other_side` contains the servers in the parent's NS records if the delegation `is_own`, or else those in the zone's
    own NS records. It is None if they are unknown. `more` are the first servers that are only in `other_side`, and
    `fewer` those only in the panel's records. Both are empty if `other_side` is None.
    """

    delegation: Delegation
    answering: tuple[str, ...]  # "name address" of those that answer with authority
    faults: tuple[str, ...]  # the others, each with the reason
    other_side: tuple[str, ...] | None = None

    @property
    def more(self) -> tuple[str, ...]:
        return tuple(name for name in self.other_side or () if name not in self.delegation.servers)[:_MOST_NAMED]

    @property
    def fewer(self) -> tuple[str, ...]:
        return tuple(n for n in self.delegation.servers if self.other_side is not None and n not in self.other_side)


def look_up_delegations(
    delegations: Sequence[Delegation], *, resolver: Resolver, networks: Sequence[str], port: int = 53
) -> list[DelegationLook]:
    """Check the first MOST_DELEGATIONS of these delegations, within SECONDS.

    Network errors are returned among the faults and never raised. Only addresses that the panel is allowed to use are
    queried.
    """
    deadline = time.monotonic() + SECONDS
    looked_at = delegations[:MOST_DELEGATIONS]
    with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="delegation") as pool:
        probe = Probe(resolver, networks, port, deadline, pool)
        found = [_servers(each.servers, each.addresses, probe) for each in looked_at]
        questions = [
            (each.name, server) for each, (servers, _) in zip(looked_at, found, strict=True) for server in servers
        ]
        answers = dict(
            zip(
                questions,
                pool.map(lambda question: _ask(question[0], question[1], port, deadline), questions),
                strict=True,
            )
        )
        above = {each.name: _parent_names(each.name, probe) for each in looked_at if each.is_own}
    return [
        _look(each, servers, faults, answers, above.get(each.name))
        for each, (servers, faults) in zip(looked_at, found, strict=True)
    ]


def _look(
    delegation: Delegation,
    servers: Iterable[Server],
    faults: Sequence[str],
    answers: Mapping[tuple[str, Server], "frozenset[str] | str"],
    above: "frozenset[str] | str | None",
) -> DelegationLook:
    answering: list[str] = []
    silent: list[str] = []
    named: set[str] = set()
    for server in servers:
        answer = answers[delegation.name, server]
        if isinstance(answer, str):
            silent.append(f"{server}: {answer}")
        else:
            answering.append(str(server))
            named |= answer
    if delegation.is_own:
        silent += [above] if isinstance(above, str) else []
        other_side = None if above is None or isinstance(above, str) else above
    else:
        other_side = frozenset(named) if answering else None
    listed = None if other_side is None else tuple(sorted(other_side))
    return DelegationLook(delegation, tuple(answering), (*faults, *silent), listed)


def _servers(
    hosts: Collection[str], known: Mapping[str, tuple[str, ...]], probe: Probe
) -> tuple[list[Server], list[str]]:
    """Return the first servers at their first addresses, and messages about servers that can't be queried."""
    zone = Zone("", tuple(sorted(hosts))[:_MOST_SERVERS])
    servers, faults = servers_of(zone, probe, known=known)
    return servers[:_MOST_ADDRESSES], faults


def _ask(name: str, server: Server, port: int, deadline: float) -> "frozenset[str] | str":
    """Return the zone's name servers in the server's authoritative answer, or the reason if there is no such answer."""
    try:
        answer = _answer(name, server, port, deadline)
    except (NoAnswer, Unusable) as exc:
        return str(exc)
    if not answer.flags & dns.flags.AA:
        return gettext("not authoritative for {name}").format(name=name)
    return _nameservers(answer, name) or gettext("no NS records for {name}").format(name=name)


def _parent_names(name: str, probe: Probe) -> "frozenset[str] | str | None":
    """Return the zone's name servers in the parent's delegation, or the reason why they are unknown.

    Return None if the parent's servers also serve the zone: their answers then contain the zone's own NS records.
    """
    above = names.parent(name)
    if above is None:
        return None
    try:
        parent = probe.resolver.zone_of(above, deadline=probe.deadline)
    except NoAnswer as exc:
        return gettext("{name}’s parent couldn’t be found: {exc}").format(name=name, exc=exc)
    servers, faults = _servers(parent.nameservers, {}, probe)
    found: set[str] = set()
    is_known, has_both = False, False
    for answer in probe.pool.map(lambda server: _referral(name, server, probe.port, probe.deadline), servers):
        if isinstance(answer, str):
            faults.append(answer)
        elif answer is None:
            has_both = True
        else:
            is_known = True
            found |= answer
    if is_known:
        return frozenset(found)
    return (
        None
        if has_both
        else gettext("no server for {parent} returned the name servers for {name}: {fault}").format(
            parent=parent.name, name=name, fault=faults[0]
        )
    )


def _referral(name: str, server: Server, port: int, deadline: float) -> "frozenset[str] | str | None":
    """Return the name servers in a server's referral, None if it serves the zone itself, or an error message."""
    try:
        answer = _answer(name, server, port, deadline)
    except (NoAnswer, Unusable) as exc:
        return f"{server}: {exc}"
    if answer.flags & dns.flags.AA and _nameservers(answer, name):
        return None
    referred = rrset_at(answer.authority, name_of(name), rdtypes.NS)
    if referred is None and not answer.flags & dns.flags.AA:
        return gettext("{server}: not authoritative").format(server=server)
    return frozenset(text_of(one.target) for one in referred or ())


def _answer(name: str, server: Server, port: int, deadline: float) -> dns.message.Message:
    answer = exchange(server.address, name, rdtypes.NS, deadline=deadline, port=port)
    if answer.rcode() not in (dns.rcode.NOERROR, dns.rcode.NXDOMAIN):
        raise Unusable(gettext("response code {answer}").format(answer=rcode_text(answer)))
    return answer


def _nameservers(answer: dns.message.Message, name: str) -> frozenset[str]:
    found = rrset_at(answer.answer, name_of(name), rdtypes.NS)
    return frozenset(text_of(one.target) for one in found or ())
