"""Zones that are hard to write as text: all types, odd names, all bytes, disabled records and comments."""

from collections.abc import Iterable, Sequence

from dnspanel.transfer.exports.exported_rows import ExportedZone
from replication.codec.keys import relative_key
from replication.dns import names, rdata, rdtypes
from replication.dns.rrset import RRset, format_notes, make
from tests.replication.dns.test_rdata import VALUES

ODD_ZONES = (
    "0/25.2.0.192.in-addr.arpa.test.",
    "xn--bcher-kva.test.",
    "-dash.test.",
    "=equals.test.",
    "#hash.test.",
    "with\\.dot.test.",
    "with\\032space.test.",
    "\\255\\001bytes.test.",
    'quo\\"te.test.',
    "semi\\;colon.test.",
    "back\\\\slash.test.",
    "do\\$llar.test.",
    "brackets\\(x\\).test.",
    "a{b}'c%`~!#&*+,:<>?[]^_|.test.",
    ".".join(("l" * 63, "o" * 63, "n" * 63, "g" * 50, "test")) + ".",
)


def apex(zone: str) -> list[RRset]:
    """Return a zone's SOA and NS RRsets."""
    return [
        make(zone, rdtypes.SOA, 3600, ["ns1.example.net. hostmaster.example.net. 7 10800 3600 604800 3600"]),
        make(zone, rdtypes.NS, 3600, ["ns1.example.net.", "ns2.example.net."]),
    ]


def every_type(zone: str = "types.test.") -> list[RRset]:
    """Return one RRset of each type that nodes serve, each at a different name."""
    found = apex(zone)
    for mnemonic, values in VALUES.items():
        type_ = rdata.type_from_text(mnemonic)
        if type_ in (rdtypes.SOA, rdtypes.NS, rdtypes.DNAME):
            continue
        single = type_ == rdtypes.CNAME
        texts = [text for text, _ in values][: 1 if single else None]
        found.append(make(f"t-{mnemonic.lower()}", type_, 300, texts, origin=zone))
    found.append(make("sub", rdtypes.DNAME, 300, ["other.test."], origin=zone))
    found.append(make("t-unknown", 1234, 300, ["\\# 4 0a000001"], origin=zone))
    return found


def odd_content(zone: str = "odd.test.") -> list[RRset]:
    """Return RRsets with odd names and texts, disabled records and comments."""
    every_byte = " ".join(
        '"' + "".join(f"\\{byte:03d}" for byte in range(first, first + 64)) + '"' for first in range(0, 256, 64)
    )
    odd = [
        make(names.parse(odd.removesuffix(".test."), zone), rdtypes.A, 300, ["192.0.2.1"])
        for odd in ODD_ZONES
        if len(odd) < 100
    ]
    return [
        *apex(zone),
        *odd,
        make("*", rdtypes.TXT, 60, ['"wildcard"'], origin=zone),
        make("\\@", rdtypes.A, 60, ["192.0.2.9"], origin=zone),
        make("in", rdtypes.A, 60, ["192.0.2.9"], origin=zone),
        make("3600", rdtypes.A, 60, ["192.0.2.9"], origin=zone),
        make("bytes", rdtypes.TXT, 0, [every_byte], origin=zone),
        make("empty", rdtypes.TXT, 0, ['""', '"" ""'], origin=zone),
        make("semi", rdtypes.TXT, 0, ['"v=DKIM1; k=rsa; p=a;b" "; not a comment"'], origin=zone, comment="; but this"),
        make(
            "some", rdtypes.A, 2**31 - 1, ["192.0.2.1", "192.0.2.2", "192.0.2.3"], ["192.0.2.1"], "Zürich, 東京", zone
        ),
        make("none", rdtypes.MX, 300, ["10 a.test.", "20 b.test."], ["10 a.test.", "20 b.test."], "all off", zone),
        make("formula", rdtypes.CNAME, 300, ["=cmd\\|x.test."], comment="=1+1", origin=zone),
        make("minus", rdtypes.MX, 300, ["10 -x.test."], comment="-1", origin=zone),
        make("-minus", rdtypes.CNAME, 300, ["+x.test."], comment="'quoted", origin=zone),
        make("+plus", rdtypes.OPENPGPKEY, 300, ["+/+/"], comment='a "quoted", one', origin=zone),
        make("off", rdtypes.TXT, 300, ['"a;b"', '"c"'], ['"a;b"', '"c"'], origin=zone),
        make("alias", rdtypes.ALIAS, 300, ["cdn.test."], ["cdn.test."], "switched off", zone),
        make("lua", rdtypes.LUA, 300, ['A "ifportup(443, {})"'], comment="computed", origin=zone),
    ]


def estate() -> dict[str, list[RRset]]:
    """Return the RRsets of all these zones by zone name, in canonical order."""
    zones = {zone: apex(zone) for zone in ODD_ZONES} | {
        "types.test.": every_type(),
        "odd.test.": odd_content(),
        "2.0.192.in-addr.arpa.": [
            *apex("2.0.192.in-addr.arpa."),
            make("1.2.0.192.in-addr.arpa.", rdtypes.PTR, 300, ["a.test."]),
        ],
    }
    return {zone: in_order(zone, rrsets) for zone, rrsets in zones.items()}


def in_order(zone: str, rrsets: Iterable[RRset]) -> list[RRset]:
    """Sort RRsets into canonical order, with the SOA first."""
    return sorted(rrsets, key=lambda r: (relative_key(r.name, zone), r.type != rdtypes.SOA, r.type))


def exported(zone: str, rrsets: Sequence[RRset]) -> ExportedZone:
    """Return the zone in the form in which an export reads it from the database."""
    rows = [
        (r.name, r.type, r.ttl, r.rdata, r.disabled, r.comment, format_notes(r.notes)) for r in in_order(zone, rrsets)
    ]
    return ExportedZone(zone, 7, len(rows), iter(rows))
