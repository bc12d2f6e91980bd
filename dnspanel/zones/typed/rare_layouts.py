"""Form layouts for types with one part, for rarely used types, and for types that PowerDNS serves as bytes. Pure."""

from collections.abc import Iterator
from dataclasses import replace

from dnspanel.texts import gettext_lazy as _
from dnspanel.zones.typed.certificate_layouts import DS
from dnspanel.zones.typed.fields import Field, Kind, Layout, u8, u16, u32
from replication.dns import rdtypes

HHIT, BRID, WALLET = 67, 68, 262  # nodes get these as bytes
_FIRST, _AS_IN_FILE = _("Clients try the lowest value first."), _("Enter the value as in a zone file.")
_MANY = 1_000  # of the last field of a list or of code, at most

_FIELDS = {
    field.name: field
    for field in (
        DS.fields[1],  # the algorithm of a DNSSEC key
        Field("address", _("Address"), Kind.REST, _AS_IN_FILE),
        Field("code", _("Code"), Kind.REST, _AS_IN_FILE),
        Field("cpu", _("Hardware"), Kind.STRING, high=255),
        Field("data", _("Data"), Kind.BASE64),
        Field("digest", _("Digest"), Kind.HEX),
        Field("errors", _("Mailbox for errors"), Kind.NAME),
        Field("gateway", _("Gateway"), Kind.REST, _AS_IN_FILE),
        Field("key", _("Key"), Kind.BASE64),
        Field("mailbox", _("Mailbox"), Kind.NAME),
        Field("networks", _("Networks"), Kind.REST, "1:192.0.2.0/24 !1:192.0.2.9/32"),
        Field("os", _("Operating system"), Kind.STRING, high=255),
        Field("server", _("Server"), Kind.NAME),
        Field("target", _("Target"), Kind.NAME),
        Field("text", _("Text"), Kind.STRINGS, _AS_IN_FILE),
        Field("type", _("Type"), Kind.WORD),
        Field("types", _("Types"), Kind.REST, "NS A AAAA"),
        u16("flags", _("Flags")),
        u8("gateway_type", _("Gateway type"), _("0: none, 1: IPv4, 2: IPv6, 3: a name")),
        u8("number", _("Algorithm")),
        u8("precedence", _("Priority"), _FIRST),
        u16("preference", _("Preference"), _FIRST),
        u8("protocol", _("Protocol")),
        u8("scheme", _("Scheme")),
        u32("serial", _("Serial")),
        Field("value", _("Value"), Kind.REST, _AS_IN_FILE),
    )
}
_KEY, _BASE64 = _("A public key."), _("Data in Base64.")
# Types, purpose, and fields with their defaults. A question mark stands for an optional field.
_TABLE: tuple[tuple[tuple[int, ...], str, str], ...] = (
    ((rdtypes.A, rdtypes.AAAA, rdtypes.EUI48, rdtypes.EUI64), _("An address of this name."), "address"),
    ((rdtypes.CNAME, rdtypes.DNAME, rdtypes.ALIAS, rdtypes.PTR), _("The name that this name points to."), "target"),
    ((rdtypes.NS,), _("A name server of this name."), "server"),
    ((rdtypes.MB, rdtypes.MG, rdtypes.MR), _("A mailbox (RFC 1035, obsolete)."), "mailbox"),
    ((rdtypes.MINFO,), _("A mailbox (RFC 1035, obsolete)."), "mailbox errors"),
    ((rdtypes.HINFO,), _("The hardware and the operating system of a host."), "cpu os"),
    ((rdtypes.KEY, rdtypes.RKEY), _KEY, "flags=0 protocol=3 algorithm key"),
    ((rdtypes.DNSKEY, rdtypes.CDNSKEY), _KEY, "flags=257 protocol=3 algorithm key"),
    ((rdtypes.IPSECKEY,), _KEY, "precedence=10 gateway_type=0 number=2 gateway=. key?"),
    ((rdtypes.OPENPGPKEY, rdtypes.DHCID, HHIT, BRID), _BASE64, "data"),
    ((rdtypes.ZONEMD,), _("A digest of the zone (RFC 8976)."), "serial scheme=1 number=1 digest"),
    ((rdtypes.CSYNC,), _("Asks the parent zone to copy records (RFC 7477)."), "serial flags=3 types"),
    ((rdtypes.APL,), _("Networks (RFC 3123)."), "networks"),
    ((rdtypes.NID, rdtypes.L32, rdtypes.L64), _("An address for ILNP (RFC 6742)."), "preference=10 value"),
    ((rdtypes.LP,), _("An address for ILNP (RFC 6742)."), "preference=10 target"),
    ((rdtypes.LUA,), _("Code that computes the answer."), "type=A code"),
    ((WALLET,), _("The currency and the address of a wallet."), "text"),
)


def _fields_of(spec: str) -> Iterator[Field]:
    for word in spec.split():
        name, _equals, default = word.removesuffix("?").partition("=")
        yield replace(_FIELDS[name], default=default, required=not word.endswith("?"))


RARE = tuple(
    Layout(type, purpose, tuple(_fields_of(spec)), groups=dict.fromkeys(("code", "networks", "types"), _MANY))
    for types, purpose, spec in _TABLE
    for type in types
)
