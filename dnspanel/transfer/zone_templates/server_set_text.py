"""Parse, check and format the text of a set of name servers, with names, addresses and nodes.

    ns1.example.net. 192.0.2.1 2001:db8::1
    ns2.example.net. node:fra1

This module does not write to the database. A set is created and changed like any other template (`edit_template`).
"""

import ipaddress
from collections.abc import Iterable, Sequence

from dnspanel.field_faults import not_found
from dnspanel.fleet.models import Node, NodeState
from dnspanel.texts import gettext, joined
from dnspanel.transfer.zone_templates.edit_template import Text
from dnspanel.zones.errors import TemplateRefused
from dnspanel.zones.settings.server_sets import Host, Servers
from replication.dns import names
from replication.errors import BadName

MOST_HOSTS = 20  # more than fit into a referral over UDP
MOST_ADDRESSES = 16  # addresses and nodes per name server
LEAST_TTL, MOST_TTL = 60, 604_800
NODE = "node:"


def parse_hosts(text: str) -> tuple[Host, ...]:
    """Parse lines with a name server, its addresses and nodes. Raise TemplateRefused for `hosts` if one is invalid."""
    lines = [words for line in text.splitlines() if (words := line.split())]
    hosts, faults = [], []
    for words in lines[: MOST_HOSTS + 1]:  # `content_of` refuses more than MOST_HOSTS
        nodes = [word[len(NODE) :] for word in words[1:] if word.startswith(NODE)]
        addresses = [word for word in words[1:] if not word.startswith(NODE)]
        try:
            hosts.append(read_host(words[0], addresses, nodes))
        except ValueError as exc:
            faults.append(str(exc))
    if faults:
        raise TemplateRefused({"hosts": faults})
    return tuple(hosts)


def format_hosts(hosts: Iterable[Host]) -> str:
    """Format name servers as text for `parse_hosts`."""
    return "\n".join(map(str, hosts))


def read_host(name: str, addresses: Sequence[str], nodes: Sequence[str]) -> Host:
    """Parse a name server into canonical form. Raise ValueError, with a message for the user, if it is invalid."""
    found = read_name(name)
    if len(addresses) + len(nodes) > MOST_ADDRESSES:
        raise ValueError(
            gettext("Enter at most {most_addresses} addresses and nodes for {found}.").format(
                found=found, most_addresses=MOST_ADDRESSES
            )
        )
    if addresses and nodes:
        raise ValueError(gettext("Enter either addresses or nodes for {found}, not both.").format(found=found))
    return Host(found, read_addresses(addresses), tuple(dict.fromkeys(nodes)))


def read_addresses(texts: Iterable[str]) -> tuple[str, ...]:
    """Parse IPv4 and IPv6 addresses. Return them in canonical form, sorted and without duplicates.

    Raise ValueError, with a message for the user, for an invalid, IPv4-mapped or scoped address.
    """
    found = set()
    for text in texts:
        try:
            address = ipaddress.ip_address(text)
        except ValueError as exc:
            raise ValueError(gettext("“{text}” isn’t a valid IP address.").format(text=text[:60])) from exc
        if isinstance(address, ipaddress.IPv6Address) and (address.scope_id or address.ipv4_mapped):
            raise ValueError(gettext("“{text}” isn’t a public IP address.").format(text=text[:60]))
        found.add(address)
    return tuple(map(str, sorted(found, key=lambda each: (each.version, int(each)))))


def read_name(text: str) -> str:
    """Parse a name into canonical form. Raise ValueError, with a message for the user, if it is invalid."""
    try:
        name = names.parse(text)
    except BadName as exc:
        raise ValueError(joined(".", (exc, ""))) from exc
    if name == names.ROOT:
        raise ValueError(gettext("The root can’t be a name server."))
    return name


def content_of(servers: Servers, note: str = "") -> Text:
    """Return the set as a version's content for `edit_template`. Raise TemplateRefused if a field is invalid."""
    faults: dict[str, list[str]] = {}
    if not servers.hosts:
        faults["hosts"] = [gettext("Enter at least one name server.")]
    elif len(servers.hosts) > MOST_HOSTS:
        faults["hosts"] = [gettext("A set can have at most {most_hosts} name servers.").format(most_hosts=MOST_HOSTS)]
    elif len(set(servers.names)) != len(servers.hosts):
        faults["hosts"] = [gettext("A name server is listed more than once.")]
    elif unknown := _unknown_nodes({node for host in servers.hosts for node in host.nodes}):
        faults["hosts"] = [not_found(gettext("Node {node} not found.").format(node=node)) for node in unknown]
    if not LEAST_TTL <= servers.ttl <= MOST_TTL:
        faults["ttl"] = [
            gettext("Enter a value from {least_ttl} to {most_ttl:,} seconds.").format(
                least_ttl=LEAST_TTL, most_ttl=MOST_TTL
            )
        ]
    if faults:
        raise TemplateRefused(faults)
    return Text(servers.text, (), note, servers)


def _unknown_nodes(named: set[str]) -> list[str]:
    if not named:
        return []
    known = Node.objects.exclude(state=NodeState.RETIRED).filter(name__in=named).values_list("name", flat=True)
    return sorted(named - set(known))
