"""Define record types: numbers and mnemonics, the types that PowerDNS serves, and why others are rejected. Pure."""

from replication.errors import BadRdata
from replication.message_texts import gettext, gettext_noop

A, NS, CNAME, SOA, MB, MG, MR, PTR, HINFO, MINFO, MX, TXT = 1, 2, 5, 6, 7, 8, 9, 12, 13, 14, 15, 16
RP, AFSDB, KEY, AAAA, LOC, SRV, NAPTR, KX, CERT, DNAME, APL, DS = 17, 18, 25, 28, 29, 33, 35, 36, 37, 39, 42, 43
SSHFP, IPSECKEY, DNSKEY, DHCID, TLSA, SMIMEA, RKEY, CDS, CDNSKEY = 44, 45, 48, 49, 52, 53, 57, 59, 60
OPENPGPKEY, CSYNC, ZONEMD, SVCB, HTTPS, SPF, NID, L32, L64, LP = 61, 62, 63, 64, 65, 99, 104, 105, 106, 107
EUI48, EUI64, URI, CAA, ALIAS, LUA = 108, 109, 256, 257, 65401, 65402

# The types that PowerDNS 4.7 and later parse and print themselves. Any other type is sent as raw bytes.
_SERVED: dict[str, int] = {
    name: number
    for name, number in globals().items()
    if isinstance(number, int) and name.isupper() and not name.startswith("_")
}
SERVED_TYPES: frozenset[int] = frozenset(_SERVED.values())
_MNEMONICS: dict[int, str] = {number: name for name, number in _SERVED.items()}

RRSIG, NSEC, NSEC3, NSEC3PARAM = 46, 47, 50, 51  # people do not edit them
SIGNING_STATE = 65534  # BIND stores its signing progress at the apex with this type; elsewhere it is any private type

_SYNTHESISED = gettext_noop("{type} records can’t be edited, because PowerDNS creates them when a zone is signed")
_REFUSED: dict[int, str] = {
    0: gettext_noop("type 0 is reserved"),
    24: gettext_noop("SIG is obsolete, and PowerDNS can’t serve SIG records"),
    30: gettext_noop("NXT is obsolete because signed zones get NSEC or NSEC3 records automatically"),
    41: gettext_noop("OPT is only used in messages, not in zones"),
    46: _SYNTHESISED,
    47: _SYNTHESISED,
    50: _SYNTHESISED,
    51: gettext_noop("NSEC3PARAM is a setting of the signed zone, not a record to edit"),
    65400: gettext_noop("ADDR is an internal PowerDNS type"),
    65535: gettext_noop("type 65535 is reserved"),
}


def type_to_text(type: int) -> str:
    """Return a type's mnemonic, such as `A`, `HTTPS` or `ALIAS`, or `TYPE1234` if it has none."""
    known = _MNEMONICS.get(type)
    if known is not None:
        return known
    import dns.rdatatype

    return dns.rdatatype.to_text(dns.rdatatype.RdataType.make(type))


def type_from_text(text: str) -> int:
    """Return the number for a mnemonic or `TYPEnnn`, in any letter case. Meta types (ANY) are included.

    Raise BadRdata if the text isn't a record type.
    """
    known = _SERVED.get(text)
    if known is not None:
        return known
    upper = text.strip().upper()
    known = _SERVED.get(upper)
    if known is not None:
        return known
    import dns.exception
    import dns.rdatatype

    try:
        return int(dns.rdatatype.from_text(upper))
    except (dns.exception.DNSException, ValueError) as exc:
        raise BadRdata(
            type=0, text=text, reason=gettext("“{text}” isn’t a valid record type").format(text=text)
        ) from exc


def refusal(type: int) -> str | None:
    """Return the reason why zones can't contain records of this type, or None if they can."""
    if type in SERVED_TYPES:
        return None
    if type in _REFUSED:
        return gettext(_REFUSED[type]).format(type=type_to_text(type))
    if 128 <= type <= 255:
        return gettext("{type} is only used in queries and messages, not in zones").format(type=type_to_text(type))
    return None
