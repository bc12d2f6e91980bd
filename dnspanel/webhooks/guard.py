"""Where the panel sends: to public addresses over https, and to the networks that the operator named.

A URL comes from a person, and a request from the panel's own network position
is worth something to an attacker: other services of the host, the cloud's
metadata, the office behind it. So a URL is read by one parser, its name is
resolved here, every address it stands for is checked, and the connection is
made to a checked address, so that a second answer of the DNS changes nothing.
"""

import re
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from urllib.parse import SplitResult, urlsplit

from django.conf import settings

from dnspanel.webhooks.errors import AddressRefused, NoAnswer

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network
Resolve = Callable[[str, int], Sequence[str]]  # host, port → addresses

LONGEST_URL = 2000
_PORTS = {"https": 443, "http": 80}
# Below, only the ports of HTTP: nothing is lost, and mail, SSH or DNS cannot be spoken to.
_FIRST_FREE_PORT = 1024
_LABEL = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)", re.IGNORECASE)
# Translation to IPv4 (RFC 6052, RFC 8215, RFC 4291): what counts is the IPv4 address inside, the last 32 bits.
_WITH_IPV4_INSIDE = tuple(map(IPv6Network, ("::ffff:0:0/96", "::ffff:0:0:0/96", "64:ff9b::/96", "::/96")))
# Never a receiver, whatever the standard library's table says: "this network", shared and benchmark addresses,
# multicast, future use, local NAT64, documentation, 6to4, Teredo, ORCHID, SRv6, unique local and site-local.
_NEVER = tuple(
    map(
        ip_network,
        (
            "0.0.0.0/8",
            "10.0.0.0/8",
            "100.64.0.0/10",
            "127.0.0.0/8",
            "169.254.0.0/16",
            "172.16.0.0/12",
            "192.0.0.0/24",
            "192.0.2.0/24",
            "192.88.99.0/24",
            "192.168.0.0/16",
            "198.18.0.0/15",
            "198.51.100.0/24",
            "203.0.113.0/24",
            "224.0.0.0/4",
            "240.0.0.0/4",
            "64:ff9b:1::/48",
            "100::/64",
            "2001::/23",
            "2001:db8::/32",
            "2002::/16",
            "3fff::/20",
            "5f00::/16",
            "fc00::/7",
            "fe80::/10",
            "fec0::/10",
            "ff00::/8",
        ),
    )
)


@dataclass(frozen=True, slots=True)
class Target:
    """A URL taken apart, as the request is made from it."""

    scheme: str
    host: str  # lower case, as it is resolved and as its certificate names it
    port: int
    path: str  # with the query

    @property
    def host_header(self) -> str:
        """The host as the `Host` header names it."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"


def parse_target(url: str) -> Target:
    """Take a URL apart. Raises AddressRefused with the part that is not acceptable."""
    if len(url) > LONGEST_URL:
        raise AddressRefused(f"The URL has more than {LONGEST_URL} characters.")
    if any(ord(character) <= 0x20 or ord(character) == 0x7F for character in url) or "\\" in url:
        raise AddressRefused("The URL has spaces, control characters or backslashes in it.")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as exc:
        raise AddressRefused(f"This is not a URL: {exc}.") from exc
    scheme = _scheme(parts)
    if parts.username is not None or parts.password is not None:
        raise AddressRefused("The URL has a user name or password in it; signatures prove the sender instead.")
    if parts.fragment:
        raise AddressRefused("The URL has a fragment (#…), which no server is ever told.")
    port = _PORTS[scheme] if port is None else port
    if port not in _PORTS.values() and port < _FIRST_FREE_PORT:
        raise AddressRefused(f"Port {port} is not one for HTTP: use 443, or one from {_FIRST_FREE_PORT} on.")
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    if not path.isascii():
        raise AddressRefused("Write characters other than ASCII in the path as %XX.")
    return Target(scheme, _host(parts.hostname or ""), port, path)


def checked_addresses(target: Target, *, resolve: Resolve | None = None) -> list[str]:
    """The addresses of the target's host, all of them allowed.

    Raises AddressRefused if one of them is not, NoAnswer if there is none.
    """
    found = (resolve or resolved)(target.host, target.port)
    if not found:
        raise NoAnswer(f"{target.host} has no address.")
    for address in found:
        if not is_allowed(address):
            raise AddressRefused(
                f"{target.host} leads to {address}, which is not a public address. "
                "The operator can allow networks by PANEL_OUTBOUND_NETWORKS."
            )
    return list(found)


def is_allowed(address: str) -> bool:
    """Whether the panel sends to this address: a public one, or one in the operator's networks."""
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return False
    meant = _meant(parsed)
    if any(each in network for network in _operators(tuple(settings.OUTBOUND_NETWORKS)) for each in (parsed, meant)):
        return True
    return meant.is_global and not meant.is_multicast and not any(meant in network for network in _NEVER)


def resolved(host: str, port: int) -> list[str]:
    """The system resolver's addresses of a host, in its order. Raises NoAnswer."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as exc:
        raise NoAnswer(f"{host} cannot be resolved: {getattr(exc, 'strerror', None) or exc}.") from exc
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


def _scheme(parts: SplitResult) -> str:
    if parts.scheme == "https" or (parts.scheme == "http" and settings.OUTBOUND_HTTP):
        return parts.scheme
    if parts.scheme == "http":
        raise AddressRefused("Use an https URL: over http anybody on the way could read what is sent.")
    raise AddressRefused("The URL must start with https://")


def _host(host: str) -> str:
    """The host in canonical form: an address, or a name in ASCII without a final dot."""
    try:
        return str(ip_address(host))
    except ValueError:
        pass
    try:
        name = host.encode("idna").decode().lower().removesuffix(".")
    except UnicodeError as exc:
        raise AddressRefused(f"{host} is not a host name.") from exc
    if len(name) > 253 or not all(map(_LABEL.fullmatch, name.split("."))):
        raise AddressRefused(f"{host} is not a host name." if host else "The URL names no host.")
    return name


def _meant(address: Address) -> Address:
    """The IPv4 address that an IPv6 address stands for, else the address itself."""
    if isinstance(address, IPv6Address) and any(address in network for network in _WITH_IPV4_INSIDE):
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address


@lru_cache(maxsize=8)
def _operators(networks: tuple[str, ...]) -> tuple[Network, ...]:
    return tuple(ip_network(network, strict=False) for network in networks)
