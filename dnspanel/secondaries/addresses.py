"""Addresses with ports and networks, as people type them. Pure."""

from collections.abc import Sequence
from ipaddress import ip_address, ip_network

from replication.wire.protocol import is_resolver, join_port, split_resolver

PORT = 53
TLS_PORT = 853  # RFC 9103, section 6


def canonical_address(text: str) -> str | None:
    """The address as it is stored, without port 53; None for what is no IP address, with a port or without."""
    text = text.strip()
    if not is_resolver(text):
        return None
    host, port = split_resolver(text)
    host = str(ip_address(host))
    return host if port == PORT else join_port(host, port)


def host_and_port(address: str) -> tuple[str, int]:
    """The two parts of a canonical address."""
    return split_resolver(address)


def tls_host_and_port(address: str) -> tuple[str, int]:
    """The two parts of an address at which TLS is spoken, its port being 853 where none is written."""
    return split_resolver(address, TLS_PORT)


def canonical_network(text: str) -> str | None:
    """The network in CIDR, an address being one of its own; None for what is neither."""
    try:
        return str(ip_network(text.strip()))
    except ValueError:
        return None


def is_within(address: str, networks: Sequence[str], addresses: Sequence[str]) -> bool:
    """Whether the address is in one of the networks; where there are none, whether it is one of the addresses."""
    parsed = ip_address(address)
    if networks:
        return any(parsed in ip_network(network) for network in networks)
    return any(parsed == ip_address(host_and_port(each)[0]) for each in addresses)
