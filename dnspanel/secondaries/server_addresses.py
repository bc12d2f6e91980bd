"""Convert addresses (with or without a port) and networks to their stored form. Pure."""

from collections.abc import Sequence
from ipaddress import ip_address, ip_network

from replication.wire.protocol import is_resolver, join_port, split_resolver

PORT = 53
TLS_PORT = 853  # RFC 9103, section 6


def canonical_address(text: str) -> str | None:
    """Return the address in its stored form, without the port if it is 53, or None if the string isn't an address."""
    text = text.strip()
    if not is_resolver(text):
        return None
    host, port = split_resolver(text)
    host = str(ip_address(host))
    return host if port == PORT else join_port(host, port)


def host_and_port(address: str) -> tuple[str, int]:
    """Return the host and port of an address in stored form."""
    return split_resolver(address)


def tls_host_and_port(address: str) -> tuple[str, int]:
    """Return the host and port of a TLS server's address. The default port is 853."""
    return split_resolver(address, TLS_PORT)


def canonical_network(text: str) -> str | None:
    """Return the network in CIDR form, or None if the string isn't a network. A single address is also a network."""
    try:
        return str(ip_network(text.strip()))
    except ValueError:
        return None


def is_within(address: str, networks: Sequence[str], addresses: Sequence[str]) -> bool:
    """Return True if the address is in one of the networks or, if there are no networks, is one of the addresses."""
    parsed = ip_address(address)
    if networks:
        return any(parsed in ip_network(network) for network in networks)
    return any(parsed == ip_address(host_and_port(each)[0]) for each in addresses)
