"""Boundary values of all record types, derived from their rdata layout.

Each field has values at its bounds (0, highest, empty, longest, registered and unregistered codes). Starting from a
plain value, one field varies, then two. The values are in wire format; `replication.dns.rdata` decides whether the
panel accepts one.
"""

import itertools
import struct
from collections.abc import Iterator, Sequence

import dns.rdatatype

from replication.dns import names, rdata, rdtypes
from replication.errors import BadRdata

Field = tuple[bytes, ...]  # a field's plain value first, then its boundary values

LONGEST_NAME = ".".join(["a" * 63, "b" * 63, "c" * 63, "d" * 61]) + "."


def _numbers(size: int, *more: int) -> Field:
    highest = 256**size - 1
    edges = (1, 0, 2, highest // 2, highest // 2 + 1, highest - 1, highest, *more)
    return tuple(dict.fromkeys(number.to_bytes(size, "big") for number in edges))


def _bytes(*sizes: int) -> Field:
    """Return byte strings of these sizes, as values for a field at the end of the rdata."""
    return tuple(bytes(range(256)) * (size // 256) + bytes(range(size % 256)) for size in sizes)


def _string(text: bytes) -> bytes:
    return bytes((len(text),)) + text


U8 = _numbers(1)
U16 = _numbers(2)
U32 = _numbers(4)
U48, U64 = _numbers(6), _numbers(8)
NAME: Field = tuple(
    names.to_wire(name)
    for name in ("host.other.test.", ".", "*.other.test.", "test.", r"a\.b\"c\\d\000\255\ e.test.", LONGEST_NAME)
)
_TEXTS = (b"text", b"", b"\0", b'"', b"\\", b";", b" ", b"\xff" * 255, b"a" * 254, b"\n", b"()", b"@", b"#", b"\\# 0")
STRING: Field = tuple(map(_string, _TEXTS))
STRINGS: Field = (
    *STRING,
    _string(b"") * 2,
    _string(b"a") + _string(b""),
    _string(b"") + _string(b"a"),
    _string(b"x" * 255) * 3,
    _string(b"") * 300,
)
TEXT: Field = (*_TEXTS, b"a" * 256, b"a" * 2000, b"https://host.other.test/?a=1;b=\xc3\xbc")
BYTES: Field = _bytes(20, 0, 1, 2, 3, 4, 16, 31, 32, 33, 48, 49, 64, 65, 255, 256, 2000)
DIGEST = BYTES
V4: Field = (bytes((192, 0, 2, 1)), bytes(4), b"\xff" * 4)
V6: Field = (
    bytes.fromhex("20010db8000000000000000000000001"),
    bytes(16),
    b"\xff" * 16,
    bytes(15) + b"\1",
    bytes(10) + b"\xff\xff" + V4[0],  # IPv4 mapped into IPv6
    bytes(12) + V4[0],
)


def _bitmap(*types: int) -> bytes:
    windows: dict[int, bytearray] = {}
    for type in types:
        bits = windows.setdefault(type >> 8, bytearray(32))
        bits[(type & 255) >> 3] |= 0x80 >> (type & 7)
    return b"".join(
        bytes((window, len(bits.rstrip(b"\0")))) + bits.rstrip(b"\0") for window, bits in sorted(windows.items())
    )


BITMAP: Field = (
    _bitmap(1, 2),
    b"",
    _bitmap(0),
    _bitmap(1),
    _bitmap(255),
    _bitmap(256),
    _bitmap(65534),
    _bitmap(65535),
    _bitmap(1, 257, 1234, 65280, 65535),
    _bitmap(*range(256)),
    _bitmap(*range(0, 65536, 256)),
    _bitmap(*range(65536)),
)


def _param(key: int, value: bytes) -> bytes:
    return struct.pack(">HH", key, len(value)) + value


SVCB_PARAMS: Field = (
    b"",
    _param(0, b"\0\1") + _param(1, b"\2h2"),  # mandatory=alpn
    _param(0, b"\0\1\0\3\0\4") + _param(1, b"\2h2") + _param(3, b"\1\xbb") + _param(4, V4[0]),
    _param(0, b"\2\x9a") + _param(666, b""),  # mandatory=key666
    _param(1, b"\2h2"),
    _param(1, b"\2h2\2h3"),
    _param(1, _string(b"a" * 255)),
    _param(1, _string(b",")),
    _param(1, _string(b"\\")),
    _param(1, _string(b'"')),
    _param(1, _string(b" ")),
    _param(1, _string(b"\0\xff")),
    _param(1, _string(b"f\\oo,bar") + _string(b"h2")),
    _param(1, b"\2h2") + _param(2, b""),  # no-default-alpn
    _param(2, b""),
    _param(3, b"\0\0"),
    _param(3, b"\xff\xff"),
    _param(4, V4[0]),
    _param(4, V4[1] + V4[2]),
    _param(4, b"".join(V4) * 20),
    _param(5, b""),
    _param(5, b"\0"),
    _param(5, bytes(range(256))),
    _param(6, V6[0]),
    _param(6, V6[1] + V6[2] + V6[3]),
    _param(6, bytes(10) + b"\xff\xff" + V4[0]),  # IPv4 mapped into IPv6
    _param(7, b"/dns-query{?dns}"),  # dohpath
    _param(7, b""),
    _param(7, b'\0\xff,\\"'),
    _param(8, b""),  # ohttp
    _param(9, b""),
    _param(9, b"\0\x1d"),
    _param(10, b"x"),
    _param(666, b""),
    _param(666, b"x"),
    _param(666, b'\0"\\,; \xff'),
    _param(667, b"a" * 2000),
    _param(65279, b"x"),
    _param(65280, b"x"),
    _param(65534, b"x"),
    _param(65534, b""),
    _param(65535, b"x"),
    b"".join(_param(key, b"x") for key in range(1000, 1100)),
    _param(1, b"\2h2") + _param(3, b"\0\x35") + _param(4, V4[0]) + _param(5, b"ech!") + _param(6, V6[0]),
)


def _item(family: int, prefix: int, negation: bool, address: bytes) -> bytes:
    return struct.pack(">HBB", family, prefix, 0x80 * negation | len(address)) + address


APL: Field = (
    _item(1, 24, False, bytes((192, 0, 2))),
    b"",
    _item(1, 0, False, b""),
    _item(1, 0, True, b""),
    _item(1, 32, True, V4[2]),
    _item(2, 0, False, b""),
    _item(2, 128, True, V6[2]),
    _item(2, 32, False, V6[0][:4]),
    _item(1, 0, False, b"") * 2,
    _item(1, 24, False, bytes((192, 0, 2))) + _item(2, 32, True, V6[0][:4]),
    _item(1, 24, False, bytes((192, 0, 2))) * 100,
    _item(3, 0, False, b""),
    _item(0, 0, False, b"\1"),
    _item(65535, 255, True, b"x" * 127),
)
GATEWAY: Field = (  # gateway type, key algorithm, gateway
    *(
        bytes((type, algorithm)) + gateway
        for type, gateways in ((1, V4), (0, (b"",)), (2, V6), (3, NAME))
        for gateway in gateways
        for algorithm in (2, 0, 1, 3, 4, 127, 128, 254, 255)
    ),
)
RELAY: Field = tuple(
    bytes((discovery | type,)) + relay
    for type, relays in ((1, V4), (0, (b"",)), (2, V6), (3, NAME))
    for relay in relays
    for discovery in (0, 0x80)
)
LOC: Field = tuple(
    struct.pack(">BBBBIII", 0, size, horizontal, vertical, latitude, longitude, altitude)
    for size, horizontal, vertical in (
        (0x12, 0x16, 0x13),
        (0x00, 0x00, 0x00),
        (0x10, 0x10, 0x10),
        (0x99, 0x99, 0x99),
        (0x90, 0x19, 0x09),
        (0x09, 0x02, 0x03),
        (0x01, 0x11, 0x98),
    )
    for latitude in (2**31, 2**31 + 90 * 3600000, 2**31 - 90 * 3600000, 2**31 + 1, 2**31 - 1, 2**31 + 187654321)
    for longitude in (2**31, 2**31 + 180 * 3600000, 2**31 - 180 * 3600000, 2**31 - 1, 2**31 + 1)
    for altitude in (10000000, 0, 1, 2**31 - 1, 2**31, 2**32 - 1, 9999999, 10000001, 10000050)
)
NSAP: Field = (bytes.fromhex("47000580005a0000000001e133ffffff000161"), b"", b"\0", b"\xff" * 255)
KEY_ALGORITHM = _numbers(1, 3, 5, 8, 13, 15, 16, 252, 253)
CERT_TYPE = _numbers(2, 3, 4, 5, 6, 7, 8, 9, 252, 253, 255, 256, 65279, 65280)
TYPE_CODE = _numbers(2, 16, 46, 128, 249, 250, 251, 252, 253, 255, 256, 65280, 65400)
CAA_TAGS: Field = tuple(
    map(_string, (b"issue", b"issuewild", b"iodef", b"a", b"a" * 15, b"a" * 16, b"a" * 255, b"ISSUE", b"1", b""))
)
HIT: Field = tuple(
    struct.pack(">BBH", len(hit), algorithm, len(key)) + hit + key
    for hit in BYTES[:9]
    if len(hit) < 256
    for algorithm in (2, 0, 255)
    for key in BYTES[:9]
)

Layout = Sequence[Field]
_NAME_ONLY: Layout = (NAME,)
_PREFERRED: Layout = (U16, NAME)
_KEY: Layout = (_numbers(2, 256, 257, 384, 0xC000, 0x8000, 0x4000), _numbers(1, 3), KEY_ALGORITHM, BYTES)
_DS: Layout = (U16, KEY_ALGORITHM, _numbers(1, 4, 5, 6), DIGEST)

# By number, because some types have no name here.
LAYOUTS: dict[int, Layout] = {
    rdtypes.A: (V4,),
    rdtypes.AAAA: (V6,),
    **dict.fromkeys((rdtypes.NS, rdtypes.CNAME, rdtypes.PTR, rdtypes.DNAME, rdtypes.ALIAS), _NAME_ONLY),
    **dict.fromkeys((rdtypes.MB, rdtypes.MG, rdtypes.MR), _NAME_ONLY),
    **dict.fromkeys((rdtypes.MX, rdtypes.AFSDB, rdtypes.KX, rdtypes.LP), _PREFERRED),
    **dict.fromkeys((rdtypes.RP, rdtypes.MINFO), (NAME, NAME)),
    **dict.fromkeys((rdtypes.TXT, rdtypes.SPF), (STRINGS,)),
    **dict.fromkeys((rdtypes.SVCB, rdtypes.HTTPS), (U16, NAME, SVCB_PARAMS)),
    **dict.fromkeys((rdtypes.KEY, rdtypes.DNSKEY, rdtypes.CDNSKEY, rdtypes.RKEY), _KEY),
    **dict.fromkeys((rdtypes.DS, rdtypes.CDS, 32769), _DS),
    **dict.fromkeys((rdtypes.TLSA, rdtypes.SMIMEA), (U8, U8, U8, BYTES)),
    rdtypes.SOA: (NAME, NAME, U32, U32, U32, U32, U32),
    rdtypes.HINFO: (STRING, STRING),
    rdtypes.LOC: (LOC,),
    rdtypes.SRV: (U16, U16, U16, NAME),
    rdtypes.NAPTR: (U16, U16, STRING, STRING, STRING, NAME),
    rdtypes.CERT: (CERT_TYPE, U16, KEY_ALGORITHM, BYTES),
    rdtypes.APL: (APL,),
    rdtypes.SSHFP: (_numbers(1, 3, 4, 5, 6), U8, BYTES),
    rdtypes.IPSECKEY: (U8, GATEWAY, BYTES),
    rdtypes.DHCID: (BYTES,),
    rdtypes.OPENPGPKEY: (BYTES,),
    rdtypes.CSYNC: (U32, U16, BITMAP),
    rdtypes.ZONEMD: (U32, U8, U8, BYTES),
    rdtypes.NID: (U16, U64),
    rdtypes.L32: (U16, V4),
    rdtypes.L64: (U16, U64),
    rdtypes.EUI48: (U48,),
    rdtypes.EUI64: (U64,),
    rdtypes.URI: (U16, U16, TEXT),
    rdtypes.CAA: (_numbers(1, 128), CAA_TAGS, TEXT),
    rdtypes.LUA: (TYPE_CODE, STRINGS),
    11: (V4, U8, BYTES),  # WKS
    19: (STRING,),  # X25
    20: (STRING, (*STRING, b"")),  # ISDN
    21: _PREFERRED,  # RT
    22: (NSAP,),
    23: _NAME_ONLY,  # NSAP-PTR
    26: (U16, NAME, NAME),  # PX
    27: ((_string(b"-32.6882"), *STRING), (_string(b"116.8652"), *STRING), (_string(b"10.0"), *STRING)),  # GPOS
    55: (HIT, (*NAME, b"")),
    56: (STRINGS,),  # NINFO
    58: (NAME, NAME),  # TALINK
    66: (TYPE_CODE, U8, U16, NAME),  # DSYNC
    260: (U8, RELAY),  # AMTRELAY
    261: (STRINGS,),  # RESINFO
    262: (STRINGS,),  # WALLET
}
# Types that only dnspython supports, or nothing: their rdata is bytes. Types of queries and messages are refused.
_BYTES_ONLY = (
    3,
    4,
    10,
    31,
    32,
    34,
    38,
    40,
    67,
    100,
    103,
    110,
    127,
    128,
    200,
    258,
    259,
    264,
    1234,
    32768,
    32770,
    65279,
    65280,
)
_OTHERS = (*_BYTES_ONLY, 65399, 65400, 65403, 65534, 65535, 0, 24, 30, 41, 249, 250, 251, 252, 253, 254, 255)
LAYOUTS.update({number: (BYTES,) for number in _OTHERS if number not in LAYOUTS})

MOST_OF_A_TYPE = 4000


def wires_of(type: int) -> list[bytes]:
    """Return a type's boundary values in wire format: one field at a bound, then two fields."""
    layout = LAYOUTS[type]
    plain = [field[0] for field in layout]
    found: dict[bytes, None] = {b"".join(plain): None}
    for count in (1, 2):
        for places in itertools.combinations(range(len(layout)), count):
            for edges in itertools.product(*(layout[place] for place in places)):
                parts = list(plain)
                for place, edge in zip(places, edges, strict=True):
                    parts[place] = edge
                found[b"".join(parts)] = None
                if len(found) >= MOST_OF_A_TYPE:
                    return list(found)
    return list(found)


def values_of(type: int) -> Iterator[str]:
    """Yield the boundary values that are valid for the type, as the panel's canonical text."""
    if rdtypes.refusal(type) is not None:
        return
    for wire in wires_of(type):
        try:
            text = rdata.from_wire(type, wire)
            yield rdata.parse(type, text)
        except BadRdata:
            continue


def name_of(type: int) -> str:
    return dns.rdatatype.to_text(dns.rdatatype.RdataType.make(type))
