"""Convert plain rdata of common types to canonical text and wire form.

Each conversion returns both forms, or raises KeyError for rdata that needs the slow path.
"""

import re
import socket
from collections.abc import Callable
from typing import Protocol

from dnspanel.transfer.zonefile.field_tables import MOST_KEPT, TIMERS, U16, Pair
from dnspanel.transfer.zonefile.zonefile_content import Content, type_tail
from dnspanel.zones.rules.value_rules import fault_of_caa
from replication.dns import rdtypes
from replication.dns.rdata_forms import FORMS

_LONGEST_TEXT = 4_000


class PlainReader(Protocol):
    """The part of the zone-file reader's interface that conversions use."""

    content: Content

    def name_at(self, word: str) -> tuple[str, bytes, bytes]:
        """Parse a name in rdata. Return the name, its wire form, and its relative key (b"" outside the zone)."""


def _keep(cache: dict[str, Pair], value: str, pair: Pair) -> Pair:
    if len(cache) >= MOST_KEPT:
        cache.clear()
    cache[value] = pair
    return pair


def _a(reader: PlainReader, value: str) -> Pair:
    return _address(_A, socket.AF_INET, value)


def _aaaa(reader: PlainReader, value: str) -> Pair:
    return _address(_AAAA, socket.AF_INET6, value)


def _address(cache: dict[str, Pair], family: socket.AddressFamily, value: str) -> Pair:
    try:
        wire = socket.inet_pton(family, value.rstrip())
    except OSError:
        raise KeyError(value) from None
    return _keep(cache, value, (socket.inet_ntop(family, wire), wire))


def _host(reader: PlainReader, value: str) -> Pair:
    """Return an NS record's rdata as text and in wire form. Add a host in the zone to `content.hosts`."""
    text, wire, key = reader.name_at(value.rstrip())
    if key:
        reader.content.hosts.add(key)
    return text, wire


def _target(reader: PlainReader, value: str) -> Pair:
    """Return a CNAME's or PTR's rdata as text and in wire form. Add a target in the zone to `content.aliases`."""
    text, wire, key = reader.name_at(value.rstrip())
    if key:
        reader.content.aliases.add(key)
    return text, wire


def _mx(reader: PlainReader, value: str) -> Pair:
    fields = value.split()
    if len(fields) != 2:
        raise KeyError(value)
    preference, head = U16[fields[0]]
    text, wire, key = reader.name_at(fields[1])
    if key:
        reader.content.hosts.add(key)
    return f"{preference} {text}", head + wire


def _srv(reader: PlainReader, value: str) -> Pair:
    fields = value.split()
    if len(fields) != 4:
        raise KeyError(value)
    (priority, one), (weight, two), (port, three) = U16[fields[0]], U16[fields[1]], U16[fields[2]]
    text, wire, key = reader.name_at(fields[3])
    if key:
        reader.content.hosts.add(key)
    return f"{priority} {weight} {port} {text}", one + two + three + wire


def _soa(reader: PlainReader, value: str) -> Pair:
    fields = value.split()
    if len(fields) != 7:
        raise KeyError(value)
    primary, one, _ = reader.name_at(fields[0])
    mailbox, two, _ = reader.name_at(fields[1])
    number = fields[2]
    if not (number.isdigit() and len(number) <= 10 and int(number) < 1 << 32):
        raise KeyError(value)
    serial = int(number)
    times, wire = TIMERS[" ".join(fields[3:])]
    return f"{primary} {mailbox} {serial} {times}", one + two + serial.to_bytes(4, "big") + wire


_STRING = re.compile(r'"[ !#-\[\]-~]{0,255}"')
_STRINGS = re.compile(r'(?:"(?:[ !#-\[\]-~]|\\[ -~]){0,255}"(?:[ \t]+|$))+')
_WORD = re.compile(r"[!#-'*-:<-\[\]-~]{1,255}")


def _txt(reader: PlainReader, value: str) -> Pair:
    if _STRING.fullmatch(value):
        return _keep(_TXT, value, (value, (chr(len(value) - 2) + value[1:-1]).encode("latin-1")))
    value = value.rstrip()
    if len(value) <= _LONGEST_TEXT and _STRINGS.fullmatch(value):
        try:
            wire = FORMS[rdtypes.TXT].encode(value, None)
        except ValueError:
            raise KeyError(value) from None
        return _keep(_TXT, value, (FORMS[rdtypes.TXT].decode(wire), wire))
    # Text that begins with a tag like “v=” should have quotes. The slow path warns about it.
    if _WORD.fullmatch(value) and value[:2].lower() != "v=" and value != "\\#":
        return f'"{value}"', (chr(len(value)) + value).encode("latin-1")
    raise KeyError(value)


_CAA_VALUE = re.compile(r'([0-9]{1,3})[ \t]+([a-z0-9]{1,15})[ \t]+"([ !#-\[\]-~]*)"[ \t]*')


def _caa(reader: PlainReader, value: str) -> Pair:
    match = _CAA_VALUE.fullmatch(value)
    if match is None or int(match[1]) > 255 or not match[3]:  # some PowerDNS releases refuse empty values
        raise KeyError(value)
    flags, tag, text = int(match[1]), match[2], match[3]
    wire = bytes((flags, len(tag))) + (tag + text).encode("ascii")
    canonical = f'{flags} {tag} "{text}"'
    if fault_of_caa(canonical):
        reader.content.has_doubtful_caa = True
        return canonical, wire
    return _keep(_CAA, value, (canonical, wire))


_DIGEST = re.compile(r"([0-9]{1,5})[ \t]+([0-9]{1,3})(?:[ \t]+([0-9]{1,3}))?[ \t]+((?:[0-9A-Fa-f]{2}){1,64})[ \t]*")
# Lengths by digest type or matching type, as in dnspython. Other types are left to dnspython.
_DS_SIZES = {1: 20, 2: 32, 4: 48}
_SSHFP_SIZES = {1: 20, 2: 32}
_TLSA_SIZES = {1: 32, 2: 64}


def _digest(value: str, fields: int) -> tuple[list[int], bytes]:
    """Return the numbers before a digest, and the digest. Raise KeyError unless there are `fields` valid numbers."""
    match = _DIGEST.fullmatch(value)
    numbers = [int(number) for number in match.groups()[:3] if number] if match else []
    if match is None or len(numbers) != fields or max(numbers[1:]) > 255:
        raise KeyError(value)
    return numbers, bytes.fromhex(match[4])


def _ds(reader: PlainReader, value: str) -> Pair:
    (tag, algorithm, kind), digest = _digest(value, 3)
    if tag > 65535 or _DS_SIZES.get(kind) != len(digest):
        raise KeyError(value)
    return f"{tag} {algorithm} {kind} {digest.hex()}", tag.to_bytes(2, "big") + bytes((algorithm, kind)) + digest


def _tlsa(reader: PlainReader, value: str) -> Pair:
    (usage, selector, matching), digest = _digest(value, 3)
    if usage > 255 or _TLSA_SIZES.get(matching) != len(digest):
        raise KeyError(value)
    return f"{usage} {selector} {matching} {digest.hex()}", bytes((usage, selector, matching)) + digest


def _sshfp(reader: PlainReader, value: str) -> Pair:
    (algorithm, kind), digest = _digest(value, 2)
    if algorithm > 255 or _SSHFP_SIZES.get(kind) != len(digest):
        raise KeyError(value)
    return f"{algorithm} {kind} {digest.hex()}", bytes((algorithm, kind)) + digest


Convert = Callable[[PlainReader, str], Pair]
_A: dict[str, Pair] = {}
_AAAA: dict[str, Pair] = {}
# For types without a cache: names depend on the zone, and digests rarely repeat.
_NONE: dict[str, Pair] = {}
_TXT: dict[str, Pair] = {}
_CAA: dict[str, Pair] = {}

_CONVERSIONS: dict[str, tuple[int, dict[str, Pair], Convert]] = {
    "A": (rdtypes.A, _A, _a),
    "NS": (rdtypes.NS, _NONE, _host),
    "CNAME": (rdtypes.CNAME, _NONE, _target),
    "SOA": (rdtypes.SOA, _NONE, _soa),
    "PTR": (rdtypes.PTR, _NONE, _target),
    "MX": (rdtypes.MX, _NONE, _mx),
    "TXT": (rdtypes.TXT, _TXT, _txt),
    "AAAA": (rdtypes.AAAA, _AAAA, _aaaa),
    "SRV": (rdtypes.SRV, _NONE, _srv),
    "CAA": (rdtypes.CAA, _CAA, _caa),
    "DS": (rdtypes.DS, _NONE, _ds),
    "TLSA": (rdtypes.TLSA, _NONE, _tlsa),
    "SSHFP": (rdtypes.SSHFP, _NONE, _sshfp),
}
# The type, the end of the record key, the cache, and the conversion of values that are not in the cache.
KINDS = {
    word: (type_, type_tail(type_), cache, convert)
    for mnemonic, (type_, cache, convert) in _CONVERSIONS.items()
    for word in (mnemonic, mnemonic.lower())
}
