"""Query the recursive resolvers that the panel uses: those in PANEL_DNS_RESOLVERS, or the system's."""

from dataclasses import dataclass

import dns.exception
import dns.message
import dns.rcode
import dns.rdatatype
import dns.resolver
from django.conf import settings

from dnspanel.fleet.dnssec.dns_exchange import NoAnswer, exchange, name_of, rcode_text, rrset_at, text_of
from dnspanel.texts import gettext
from replication.dns import names, rdtypes
from replication.wire.protocol import split_resolver

_USABLE = (dns.rcode.NOERROR, dns.rcode.NXDOMAIN)
# Further addresses of a name are ignored.
_MOST_ADDRESSES = 16


@dataclass(frozen=True, slots=True)
class Zone:
    """A zone's name and the names of its name servers, as found in DNS."""

    name: str
    nameservers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Resolver:
    """A list of resolvers (address, port). They are tried in order until one answers."""

    servers: tuple[tuple[str, int], ...]

    def ask(self, name: str, type: int, *, deadline: float, dnssec: bool = False) -> dns.message.Message:
        """Return an answer with the response code NOERROR or NXDOMAIN. Raise NoAnswer if no resolver sends one."""
        failure = gettext("no resolver configured")
        for address, port in self.servers:
            try:
                answer = exchange(address, name, type, deadline=deadline, port=port, is_recursive=True, dnssec=dnssec)
            except NoAnswer as exc:
                failure = gettext("resolver: {exc}").format(exc=exc)
                continue
            if answer.rcode() in _USABLE:
                return answer
            failure = gettext("the resolver answered {rcode_text} for {name}").format(
                rcode_text=rcode_text(answer), name=name
            )
        raise NoAnswer(failure)

    def addresses(self, host: str, *, deadline: float) -> tuple[str, ...]:
        """Return up to 16 addresses of a host, IPv4 first, following aliases. Raise NoAnswer if that fails."""
        found: list[str] = []
        for type in (dns.rdatatype.A, dns.rdatatype.AAAA):
            answer = self.ask(host, type, deadline=deadline)
            try:
                chain = dns.message.QueryMessage.resolve_chaining(answer)  # type: ignore[arg-type]
            except dns.exception.DNSException as exc:  # a loop of aliases, or an answer to a different question
                raise NoAnswer(gettext("the resolver’s answer for {host} is invalid").format(host=host)) from exc
            if chain.answer is not None:
                found += [item.address for item in chain.answer]
        return tuple(dict.fromkeys(found))[:_MOST_ADDRESSES]

    def zone_of(self, name: str, *, deadline: float) -> Zone:
        """Return the zone that contains a name. Raise NoAnswer if resolvers don't answer."""
        at: str | None = name
        while at is not None:
            answer = self.ask(at, rdtypes.NS, deadline=deadline)
            found = rrset_at(answer.answer, name_of(at), rdtypes.NS)
            if found is not None:
                return Zone(at, tuple(sorted(text_of(item.target) for item in found)))
            at = _above(answer, at)
        raise NoAnswer(gettext("the resolver doesn’t know the root zone"))


def _above(answer: dns.message.Message, name: str) -> str | None:
    """Return the next name to query: the SOA's owner in the negative answer if above `name`, else the parent."""
    apexes = [text_of(each.name) for each in answer.authority if each.rdtype == rdtypes.SOA]
    if len(apexes) == 1 and apexes[0] != name and names.is_within(name, apexes[0]):
        return apexes[0]
    return names.parent(name)


def resolver_of_settings() -> Resolver:
    """Return the resolvers in the settings, or the system's resolvers if there are none."""
    return Resolver(tuple(map(split_resolver, settings.DNS_RESOLVERS)) or tuple(system_resolvers()))


def system_resolvers() -> list[tuple[str, int]]:
    """Return (address, port) of the system's resolvers, or an empty list if it has none."""
    try:
        return [(str(address), 53) for address in dns.resolver.Resolver().nameservers]
    except dns.exception.DNSException:
        return []
