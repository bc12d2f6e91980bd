"""The zones that the tests compare: zone files next to this module, and generated zones.

Each line is `owner TTL IN type rdata`, so that the tests' own reader stays trivial and PowerDNS reads the same text.
"""

import random
import re
from collections import defaultdict
from pathlib import Path

from replication.dns import names, rrset
from replication.dns.rdtypes import type_from_text
from replication.dns.rrset import RRset

ZONES = Path(__file__).with_name("zones")
APEX = [
    "@ 3600 IN SOA ns1.other.test. hostmaster.other.test. 1 10800 3600 604800 3600",
    "@ 3600 IN NS ns1.other.test.",
]


def zone_texts() -> dict[str, str]:
    """Return the zones' file texts by zone name."""
    texts = {path.name.removesuffix("zone"): path.read_text() for path in sorted(ZONES.glob("*.zone"))}
    generated = {"d.": _deep(), "long.test.": _long(), "large.test.": _large(), "txt.test.": _txt()}
    generated |= {f"random{seed}.test.": _random(seed) for seed in range(6)}
    for zone, lines in generated.items():
        texts[zone] = "\n".join([*APEX, *lines]) + "\n"
    return texts


def rrsets_of(zone: str, text: str) -> list[RRset]:
    """Parse a zone file in this corpus's form into RRsets."""
    found: dict[tuple[str, int, int], list[str]] = defaultdict(list)
    for line in text.splitlines():
        owner, ttl, _, mnemonic, value = line.split(None, 4)
        if mnemonic == "IPSECKEY":
            # PowerDNS leaves out the gateway where there is none; RFC 4025 writes a dot.
            value = re.sub(r"^(\d+ 0 \d+) ", r"\1 . ", value)
        found[names.parse(owner, zone), type_from_text(mnemonic), int(ttl)].append(value)
    return [rrset.make(name, type, ttl, values, origin=zone) for (name, type, ttl), values in found.items()]


def _deep() -> list[str]:
    """Return lines with names of up to 127 labels, the most in 255 bytes, with delegations and wildcards deep down."""
    deepest = ".".join(["x"] * 126)
    half = ".".join(["y"] * 60)
    return [
        f"{deepest} 300 IN A 192.0.2.1",
        f"ns.{half} 300 IN A 192.0.2.2",
        f"{half} 300 IN NS ns.{half}.d.",
        f'*.{".".join(["z"] * 100)} 300 IN TXT "deep wildcard"',
        ".".join(str(nibble % 10) for nibble in range(64)) + " 300 IN PTR host.d.",
    ]


def _long() -> list[str]:
    """Return lines with labels of 63 bytes and names of 255 bytes."""
    zone_size = len(names.to_wire("long.test."))
    label = "a" * 63
    rest = 255 - zone_size - 3 * 64 - 1
    full = ".".join([label, label, label, "b" * rest])
    assert len(names.to_wire(names.parse(full, "long.test."))) == 255
    escaped = "\\255" * 63
    return [
        f"{full} 300 IN A 192.0.2.1",
        f"{full} 300 IN MX 10 {full}.long.test.",
        f"{label} 300 IN CNAME {full}.long.test.",
        f"{escaped} 300 IN A 192.0.2.2",
        f"{label}.{label} 300 IN NS ns1.other.test.",
    ]


def _large() -> list[str]:
    """Return lines with RRsets that just fit into a DNS message, and with the largest possible rdata."""
    addresses = [f"many 300 IN A 10.{n >> 16}.{n >> 8 & 255}.{n & 255}" for n in range(4090)]
    texts = [f'texts 300 IN TXT "{n:05}{"x" * 250}"' for n in range(243)]
    one = " ".join(['"' + "y" * 255 + '"'] * 255)
    pointers = [f"pointers 300 IN PTR host-{n:04}.some.where.else.test." for n in range(1480)]
    return [*addresses, *texts, f"one 300 IN TXT {one}", *pointers]


def _random(seed: int) -> list[str]:
    """Return lines with overlapping delegations, DS, wildcards and empty non-terminals. Each seed gives fixed lines."""
    chance = random.Random(seed)
    lines: set[str] = set()
    for number in range(30):
        owner = ".".join(chance.choices(["a", "b", "c", "*", "ns"], k=chance.randint(1, 4)))
        lines.add(
            chance.choice(
                [
                    f"{owner} 300 IN A 192.0.2.{number}",
                    f'{owner} 300 IN TXT "{number}"',
                    f"{owner} 300 IN NS ns.{owner}.random{seed}.test.",
                    f"{owner} 300 IN DS {number} 13 2 {'ab' * 32}",
                    f"{owner} 300 IN MX 10 a.b.random{seed}.test.",
                ]
            )
        )
    return sorted(lines)


def _txt() -> list[str]:
    """Return lines with strings of all bytes, and of all lengths near the limit."""
    every = ['"' + "".join(f"\\{byte:03}" for byte in range(start, start + 64)) + '"' for start in range(0, 256, 64)]
    lines = [f"every 300 IN TXT {' '.join(every)}"]
    lines += [f'len{size} 300 IN TXT "{"z" * size}"' for size in (0, 1, 254, 255)]
    printable = "".join(f"\\{chr(byte)}" if chr(byte) in '"\\' else chr(byte) for byte in range(0x20, 0x7F))
    return [*lines, f'printable 300 IN TXT "{printable}"']
