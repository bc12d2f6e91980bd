"""Make sure that the panel only connects to public addresses and the operator's networks when users enter a host.

If users could make the panel connect anywhere, an attacker could reach other services on the host, the cloud's metadata
service, and internal networks. This module therefore resolves a name and checks each of its addresses. The caller
connects to one of the checked addresses, so that a second, different DNS answer has no effect. For example, webhooks,
imports, secondaries and sign-in providers use this module.
"""

import re
import socket
import time
from collections.abc import Callable, Sequence
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from dnspanel.texts import gettext

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network
Resolve = Callable[[str, int], Sequence[str]]  # host, port → addresses

LONGEST_HOST = 253
_LABEL = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)", re.IGNORECASE)
# Prefixes of IPv4 addresses in IPv6 (RFC 6052, RFC 8215, RFC 4291). The last 32 bits are the address to check.
_WITH_IPV4_INSIDE = tuple(map(IPv6Network, ("::ffff:0:0/96", "::ffff:0:0:0/96", "64:ff9b::/96", "::/96")))
# Networks that are never allowed, even if Python's tables allow them: "this network", shared and benchmark addresses,
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


class OutboundError(Exception):
    """The panel doesn't connect to this host. The message is for the user who entered the host, or for the operator."""


class BadHost(OutboundError):
    """The input isn't an IP address or a host name."""


class NotReachable(OutboundError):
    """The host isn't allowed or doesn't have an address. `allowed_addresses` uses the same message for both."""


class NotAllowed(NotReachable):
    """The host has an address that the panel isn't allowed to connect to."""


class NoAddress(NotReachable):
    """The host doesn't have an address, or can't be resolved."""


def canonical_host(host: str) -> str:
    """Return an address or ASCII host name in canonical form, without a trailing dot. Raise BadHost if invalid."""
    try:
        return str(ip_address(host))
    except ValueError:
        pass
    try:
        name = host.encode("idna").decode().lower().removesuffix(".")
    except UnicodeError as exc:
        raise BadHost(gettext("{host} isn’t a valid host name.").format(host=host)) from exc
    if len(name) > LONGEST_HOST or not all(map(_LABEL.fullmatch, name.split("."))):
        raise BadHost(
            gettext("{host} isn’t a valid host name.").format(host=host) if host else gettext("Enter a host name.")
        )
    return name


def allowed_addresses(host: str, port: int, networks: Sequence[str], *, resolve: Resolve | None = None) -> list[str]:
    """Return the host's addresses if the panel is allowed to connect to all of them.

    Raise NotAllowed if one isn't allowed, and NoAddress if the host has none. Both errors have the same message,
    because different messages would reveal which names the panel's own name server can resolve.
    """
    try:
        found = (resolve or resolve_host)(host, port)
    except NoAddress as exc:
        raise NoAddress(_refusal_of(host)) from exc
    if not found:
        raise NoAddress(_refusal_of(host))
    if not all(is_allowed(address, networks) for address in found):
        raise NotAllowed(_refusal_of(host))
    return list(found)


def is_allowed(address: str, networks: Sequence[str]) -> bool:
    """Return True if the panel is allowed to connect to this address: it is public or in the operator's networks."""
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return False
    meant = _meant(parsed)
    if any(each in network for network in _operators(tuple(networks)) for each in (parsed, meant)):
        return True
    return meant.is_global and not meant.is_multicast and not any(meant in network for network in _NEVER)


def resolve_host(host: str, port: int) -> list[str]:
    """Return the host's addresses in the system resolver's order. Raise NoAddress with the reason if this fails."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as exc:
        raise NoAddress(
            gettext("{host} couldn’t be resolved: {value}.").format(
                host=host, value=getattr(exc, "strerror", None) or exc
            )
        ) from exc
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


def _refusal_of(host: str) -> str:
    """Return the message for a host that isn't allowed or doesn't have an address. It doesn't reveal the reason."""
    try:
        ip_address(host)
    except ValueError:
        return gettext("{host} doesn’t resolve to a public address.").format(host=host)
    return gettext("{host} is not a public address.").format(host=host)


def _meant(address: Address) -> Address:
    """Return the IPv4 address that is embedded in an IPv6 address, or otherwise the address itself."""
    if isinstance(address, IPv6Address) and any(address in network for network in _WITH_IPV4_INSIDE):
        return IPv4Address(int(address) & 0xFFFFFFFF)
    return address


@lru_cache(maxsize=8)
def _operators(networks: tuple[str, ...]) -> tuple[Network, ...]:
    return tuple(ip_network(network, strict=False) for network in networks)


def seconds_left(deadline: float) -> float:
    """Return the seconds until the deadline (of `time.monotonic`). Raise TimeoutError if it has passed."""
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left
