"""Check the values that people enter for a node: name, addresses, ports, schema and tags. Pure."""

import ipaddress
import re
from collections.abc import Collection

from dnspanel.fleet.errors import BadNode
from dnspanel.publish.reading.schemas import KNOWN
from dnspanel.texts import gettext

MAX_TAGS = 20
MOST_ADDRESSES = 8

_NODE_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
_HOST_NAME = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*", re.IGNORECASE)
_TAG = re.compile(r"[a-z0-9][a-z0-9.-]{0,31}")


def check_node(name: str, dns_address: str, dns_port: int, agent_host: str, agent_port: int, schema: int) -> None:
    """Raise BadNode with the field name of the first invalid value, if any."""
    if not _NODE_NAME.fullmatch(name):
        raise BadNode(
            "name", gettext("A node name must have 1 to 63 lowercase letters, digits and hyphens, such as ns1.")
        )
    if not (_is_address(agent_host) or _HOST_NAME.fullmatch(agent_host)):
        raise BadNode("agent_host", gettext("The agent host must be a host name or an IP address."))
    if not _is_address(dns_address):
        raise BadNode("dns_address", gettext("The DNS address must be an IPv4 or IPv6 address."))
    for field, port in (("dns_port", dns_port), ("agent_port", agent_port)):
        if not 0 < port < 65536:
            raise BadNode(field, gettext("A port must be a number from 1 to 65535."))
    if schema not in KNOWN:
        raise BadNode(
            "schema", gettext("The PowerDNS schema must be one of {list}.").format(list=", ".join(map(str, KNOWN)))
        )


def checked_tags(tags: Collection[str]) -> list[str]:
    """Return the tags in lowercase, sorted and without duplicates. Raise BadNode for invalid or too many tags."""
    found = sorted({tag.strip().lower() for tag in tags if tag.strip()})
    if len(found) > MAX_TAGS:
        raise BadNode("tags", gettext("A node can have at most {max_tags} tags.").format(max_tags=MAX_TAGS))
    if wrong := [tag for tag in found if not _TAG.fullmatch(tag)]:
        raise BadNode(
            "tags",
            gettext("{wrong} isn’t a valid tag. Use at most 32 letters, digits, dots and hyphens.").format(
                wrong=wrong[0]
            ),
        )
    return found


def checked_addresses(addresses: Collection[str]) -> list[str]:
    """Return the addresses in canonical form, IPv4 first, without duplicates. Raise BadNode if invalid or too many."""
    if wrong := [text for text in addresses if not _is_address(text) or "%" in text]:
        raise BadNode("public_addresses", gettext("{value} isn’t a public IP address.").format(value=wrong[0][:60]))
    found = sorted({ipaddress.ip_address(text) for text in addresses}, key=lambda each: (each.version, int(each)))
    if len(found) > MOST_ADDRESSES:
        raise BadNode(
            "public_addresses",
            gettext("A node can have at most {most_addresses} public addresses.").format(most_addresses=MOST_ADDRESSES),
        )
    return list(map(str, found))


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True
