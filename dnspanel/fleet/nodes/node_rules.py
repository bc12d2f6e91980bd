"""Checks of what a person enters for a node: its name, addresses, ports, schema and tags. Pure."""

import ipaddress
import re
from collections.abc import Collection

from dnspanel.fleet.errors import BadNode
from dnspanel.publish.schemas import KNOWN

MAX_TAGS = 20

_NODE_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
_HOST_NAME = re.compile(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*", re.IGNORECASE)
_TAG = re.compile(r"[a-z0-9][a-z0-9.-]{0,31}")


def check_node(name: str, dns_address: str, dns_port: int, agent_host: str, agent_port: int, schema: int) -> None:
    """Raise BadNode with the first thing that is wrong, under the name of its field."""
    if not _NODE_NAME.fullmatch(name):
        raise BadNode("name", "A node's name has 1 to 63 lower-case letters, digits and hyphens, such as ns1.")
    if not (_is_address(agent_host) or _HOST_NAME.fullmatch(agent_host)):
        raise BadNode("agent_host", "The agent's host is a host name or an IP address.")
    if not _is_address(dns_address):
        raise BadNode("dns_address", "The DNS address is an IPv4 or IPv6 address.")
    for field, port in (("dns_port", dns_port), ("agent_port", agent_port)):
        if not 0 < port < 65536:
            raise BadNode(field, "A port is a number from 1 to 65535.")
    if schema not in KNOWN:
        raise BadNode("schema", f"PowerDNS schemas are {', '.join(map(str, KNOWN))}.")


def checked_tags(tags: Collection[str]) -> list[str]:
    """Return the tags sorted, in lower case and without duplicates. Raises BadNode."""
    found = sorted({tag.strip().lower() for tag in tags if tag.strip()})
    if len(found) > MAX_TAGS:
        raise BadNode("tags", f"A node has at most {MAX_TAGS} tags.")
    if wrong := [tag for tag in found if not _TAG.fullmatch(tag)]:
        raise BadNode("tags", f"{wrong[0]} is no tag: letters, digits, dots and hyphens, at most 32 of them.")
    return found


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True
