"""Find the reverse zones of a network or an address, given as people write it: `192.0.2.0/24`. Pure.

See RFC 1035 3.5 for IPv4, RFC 3596 2.5 for IPv6, and RFC 2317 for parts of a /24.
"""

from dataclasses import dataclass
from ipaddress import IPv4Network, ip_address, ip_interface, ip_network

from dnspanel.texts import gettext

# A single address doesn't show its network, so these usual prefix lengths are offered.
_PREFIXES_OF_ADDRESS = {4: (24,), 6: (64, 48)}


@dataclass(frozen=True, slots=True)
class ReverseZones:
    """A network and its reverse zones. Each choice is a complete set of zones for the network.

    `hint` is a hint for the user about the first choice, or "" if it needs none.
    """

    network: str
    choices: tuple[tuple[str, ...], ...]
    hint: str = ""


def reverse_zones_of(text: str) -> ReverseZones | None:
    """Return the reverse zones of a network or address, or None for any other input, such as a name.

    If a network's prefix length doesn't match a label, it gets the fewest zones that exactly cover it, at most 128. An
    address gets one choice for each usual network size. A network smaller than a /24 gets an RFC 2317 zone, which only
    works with CNAMEs in the zone of its /24. The second choice for such a network is the zone of the /24.
    """
    if ":" not in text and not text.rstrip(". ")[-1:].isdigit():
        return None  # for nearly all names: parsing them as addresses would take ten times as long
    typed = text.strip().removesuffix(".").partition("%")[0]  # the part after % is a local interface
    try:
        interface = ip_interface(typed)
    except ValueError:
        return None
    if "/" not in typed:
        lengths = _PREFIXES_OF_ADDRESS[interface.version]
        networks = [ip_network((interface.ip, length), strict=False) for length in lengths]
        choices = tuple((_zone_of(str(n.network_address), n.prefixlen),) for n in networks)
        return ReverseZones(str(interface.ip), choices)
    network = interface.network
    if isinstance(network, IPv4Network) and network.prefixlen > 24:
        return _classless(network)
    step = 8 if network.version == 4 else 4
    length = -(-network.prefixlen // step) * step
    zones = (_zone_of(str(part.network_address), length) for part in network.subnets(new_prefix=length))
    return ReverseZones(str(network), (tuple(zones),))


def reverse_name(address: str) -> str:
    """Return the owner name of the address's PTR record. Raise ValueError for an invalid address."""
    return _zone_of(address, ip_address(address).max_prefixlen)


def classless_names(address: str) -> list[str]:
    """Return the owner names that an IPv4 address's PTR can have in RFC 2317 zones, the smallest zone first.

    An IPv6 address has no such names. Both `0/26` and `0-26` are in use, because some software rejects a slash.
    """
    ip = ip_address(address)
    if ip.version != 4:
        return []
    last = int(ip) % 256
    above = _zone_of(address, 24)
    return [
        f"{last}.{last & -(1 << (32 - length)) & 255}{sign}{length}.{above}"
        for length in range(32, 24, -1)
        for sign in "/-"
    ]


def classless_aliases(zone_name: str) -> dict[str, str]:
    """Return the CNAMEs that an RFC 2317 zone needs in the zone of its /24, or {} for other names."""
    label, _, above = zone_name.partition(".")
    first, sign, length = label.partition("/") if "/" in label else label.partition("-")
    if not sign or not (first.isdecimal() and length.isdecimal() and len(label) <= 6) or not label.isascii():
        return {}
    if address_of(f"0.{above}") is None or not 24 < int(length) <= 32 or int(first) % (1 << (32 - int(length))):
        return {}
    addresses = range(int(first), min(int(first) + (1 << (32 - int(length))), 256))
    return {f"{number}.{above}": f"{number}.{zone_name}" for number in addresses}


def address_of(owner: str) -> str | None:
    """Return the address for a PTR's owner name, even in an RFC 2317 zone, or None for other names."""
    labels = owner.lower().split(".")
    if len(labels) == 8 and ("/" in labels[1] or "-" in labels[1]) and labels[5:] == ["in-addr", "arpa", ""]:
        del labels[1]
    if labels[-3:] == ["in-addr", "arpa", ""] and len(labels) == 7:
        text = ".".join(reversed(labels[:4]))
    elif labels[-3:] == ["ip6", "arpa", ""] and len(labels) == 35:
        digits = "".join(reversed(labels[:32]))
        text = ":".join(digits[at : at + 4] for at in range(0, 32, 4))
    else:
        return None
    try:
        return str(ip_address(text))
    except ValueError:
        return None


def _zone_of(address: str, length: int) -> str:
    """Return the reverse zone of the address's network with this prefix length, which must match a label."""
    ip = ip_address(address)
    bits_of_label = 8 if ip.version == 4 else 4
    labels = ip.reverse_pointer.split(".")
    return ".".join(labels[(ip.max_prefixlen - length) // bits_of_label :]) + "."


def _classless(network: IPv4Network) -> ReverseZones:
    address, length = network.network_address, network.prefixlen
    above = _zone_of(str(address), 24)
    first = int(address) % 256
    zone = f"{first}/{length}.{above}"
    last = first + network.num_addresses - 1
    hint = gettext(
        "RFC 2317: {above} needs a delegation of {delegated} and a CNAME for each address from {first} to "
        "{last}. Example: {first} CNAME {first}.{zone}. The owner of {above} must add these records. If "
        "you can edit that zone in this panel, select the delegation to add these records to your draft."
    ).format(above=above, first=first, zone=zone, last=last, delegated=f"{first}/{length}")
    return ReverseZones(str(network), ((zone,), (above,)), hint)
