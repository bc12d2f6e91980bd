"""The fields of each type that has a form, with what people should know of them. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from dnspanel.zones.typed.fields import Field, Kind, u8, u16, u32
from replication.dns import rdtypes

Choices = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Digest:
    """How many bytes the data has, by the word of another field, and what that one calls them."""

    by: str
    data: str
    lengths: Mapping[str, tuple[int, str]]


@dataclass(frozen=True, slots=True)
class Layout:
    """The fields of a type in the order of its text; `parameters` are those that are written as `key=value`."""

    type: int
    purpose: str
    fields: tuple[Field, ...]
    parameters: tuple[Field, ...] = ()
    digest: Digest | None = None
    is_single: bool = False  # a name has one of them
    groups: Mapping[str, int] = field(default_factory=dict)  # fields of more than one word

    @property
    def all_fields(self) -> tuple[Field, ...]:
        return self.fields + self.parameters


_ALGORITHMS: Choices = (
    ("8", "8: RSA/SHA-256"),
    ("10", "10: RSA/SHA-512"),
    ("13", "13: ECDSA P-256/SHA-256"),
    ("14", "14: ECDSA P-384/SHA-384"),
    ("15", "15: Ed25519"),
    ("16", "16: Ed448"),
)
_DIGESTS: Choices = (("2", "2: SHA-256"), ("4", "4: SHA-384"), ("1", "1: SHA-1, not for new ones"))
_MATCHINGS: Choices = (("1", "1: its SHA-256"), ("2", "2: its SHA-512"), ("0", "0: all of it"))
_SELECTORS: Choices = (("1", "1: the public key"), ("0", "0: the whole certificate"))
_USAGES: Choices = (
    ("3", "3: this server’s certificate, whoever issued it (DANE-EE)"),
    ("2", "2: an authority of our own (DANE-TA)"),
    ("1", "1: this certificate, and a public authority too (PKIX-EE)"),
    ("0", "0: this public authority (PKIX-TA)"),
)
_CERT_ALGORITHMS: Choices = (
    ("0", "0: none"),
    ("RSASHA256", "RSASHA256"),
    ("RSASHA512", "RSASHA512"),
    ("ECDSAP256SHA256", "ECDSAP256SHA256"),
    ("ED25519", "ED25519"),
)
_SHA = {"1": (20, "SHA-1"), "2": (32, "SHA-256")}
_MATCHED = Digest("matching", "certificate", {"1": (32, "SHA-256"), "2": (64, "SHA-512")})
_LATER_NAME = "Without a final dot it is below this zone."

_PRIORITY = u16("priority", "Priority", "The lowest is tried first.", default="10")
_PREFERENCE = u16("preference", "Preference", "The lowest is tried first.", default="10")
_WEIGHT = u16("weight", "Weight", "Its share among those of one priority.", default="0")


def _name(name: str, label: str, help: str = _LATER_NAME) -> Field:
    return Field(name, label, Kind.NAME, help)


def _seconds(name: str, label: str, help: str, default: str) -> Field:
    return Field(name, label, Kind.SECONDS, help, default=default)


def _metres(name: str, label: str, help: str, default: str) -> Field:
    return Field(name, label, Kind.METRES, help, high=90_000_000, default=default, required=False)


def _hex(name: str, label: str, help: str = "Hexadecimal digits; spaces and colons are skipped.") -> Field:
    return Field(name, label, Kind.HEX, help)


def _matched(type: int, purpose: str) -> Layout:
    return Layout(
        type,
        purpose,
        (
            u8("usage", "Usage", "What the certificate is to those who connect.", choices=_USAGES, default="3"),
            u8("selector", "Selector", "What is compared.", choices=_SELECTORS, default="1"),
            u8("matching", "Matching", "How it is compared.", choices=_MATCHINGS, default="1"),
            _hex("certificate", "Certificate data"),
        ),
        digest=_MATCHED,
    )


def _delegation_signer(type: int, purpose: str) -> Layout:
    return Layout(
        type,
        purpose,
        (
            u16("tag", "Key tag"),
            u8("algorithm", "Algorithm", "Of the key.", choices=_ALGORITHMS, default="13"),
            u8("digest_type", "Digest type", choices=_DIGESTS, default="2"),
            _hex("digest", "Digest"),
        ),
        digest=Digest("digest_type", "digest", _SHA | {"4": (48, "SHA-384")}),
    )


def _service(type: int, purpose: str) -> Layout:
    return Layout(
        type,
        purpose,
        (
            u16(
                "priority",
                "Priority",
                "0 makes it an alias of the target; else the lowest is tried first.",
                default="1",
            ),
            Field("target", "Target", Kind.NAME, "“.” is the name of the record itself.", default="."),
        ),
        (
            Field(
                "alpn",
                "Protocols (alpn)",
                Kind.LIST,
                "With commas between them: h3,h2.",
                choices=(("h3,h2", "HTTP/3 and HTTP/2"), ("h2", "HTTP/2"), ("dot", "DNS over TLS")),
                required=False,
                is_open=True,
            ),
            Field(
                "no-default-alpn",
                "Only these protocols",
                Kind.FLAG,
                "The protocol that every such server has is not spoken here.",
                required=False,
            ),
            u16("port", "Port", "Where it is not the usual one.", required=False),
            Field("ipv4hint", "IPv4 hints", Kind.LIST, "Addresses of the target, with commas.", required=False),
            Field("ipv6hint", "IPv6 hints", Kind.LIST, "Addresses of the target, with commas.", required=False),
            Field(
                "ech",
                "Encrypted hello (ech)",
                Kind.BASE64,
                "Base64, as the server’s program prints it.",
                required=False,
            ),
            Field(
                "mandatory", "Mandatory", Kind.LIST, "Keys that a client must know, such as alpn,port.", required=False
            ),
            Field("other", "Other parameters", Kind.REST, 'As in a zone file: dohpath="/q{?dns}".', required=False),
        ),
    )


_LAYOUTS = (
    Layout(
        rdtypes.SOA,
        "What secondaries and resolvers are told about the zone itself.",
        (
            _name("primary", "Primary server", "The name server that the zone comes from."),
            Field("mailbox", "Mailbox", Kind.MAILBOX, "Who answers for the zone; a mail address is understood."),
            u32("serial", "Serial", "It moves with every publication; what is typed counts only if it is greater."),
            _seconds("refresh", "Refresh", "How often secondaries look for a new serial.", "10800"),
            _seconds("retry", "Retry", "How soon they try again.", "3600"),
            _seconds("expire", "Expire", "How long they answer without the primary.", "604800"),
            _seconds("minimum", "Negative TTL", "How long resolvers may keep that a name does not exist.", "3600"),
        ),
        is_single=True,
    ),
    Layout(
        rdtypes.MX,
        "A server that takes mail for this name.",
        (_PREFERENCE, _name("host", "Mail server", "Its name; “.” says that there is no mail here.")),
    ),
    Layout(
        rdtypes.SRV,
        "Where a service is, at a name such as _sip._tcp.",
        (
            _PRIORITY,
            _WEIGHT,
            u16("port", "Port"),
            _name("target", "Server", "Its name; “.” says that the service does not exist here."),
        ),
    ),
    Layout(
        rdtypes.CAA,
        "Which authorities may issue certificates for this name and those below it.",
        (
            u8(
                "flags",
                "Flags",
                choices=(("0", "0: usual"), ("128", "128: who does not know the tag must not issue")),
                default="0",
            ),
            Field(
                "tag",
                "Tag",
                Kind.WORD,
                choices=(
                    ("issue", "issue: who may issue"),
                    ("issuewild", "issuewild: who may issue wildcards"),
                    ("issuemail", "issuemail: who may issue for mail (S/MIME)"),
                    ("issuevmc", "issuevmc: who may issue for marks (BIMI)"),
                    ("iodef", "iodef: where to report"),
                    ("contactemail", "contactemail: a mail address"),
                    ("contactphone", "contactphone: a telephone number"),
                ),
                default="issue",
            ),
            Field("value", "Value", Kind.STRING, "The authority’s name; “;” is nobody. For iodef a mailto: address."),
        ),
    ),
    _matched(rdtypes.TLSA, "The certificate of a TLS server, at a name such as _443._tcp.www."),
    _matched(rdtypes.SMIMEA, "The certificate of a mail address."),
    Layout(
        rdtypes.SSHFP,
        "The fingerprint of an SSH server’s key.",
        (
            u8(
                "algorithm",
                "Algorithm",
                choices=(("4", "4: Ed25519"), ("3", "3: ECDSA"), ("1", "1: RSA"), ("6", "6: Ed448"), ("2", "2: DSA")),
                default="4",
            ),
            u8("fingerprint_type", "Fingerprint type", choices=(("2", "2: SHA-256"), ("1", "1: SHA-1")), default="2"),
            _hex("fingerprint", "Fingerprint"),
        ),
        digest=Digest("fingerprint_type", "fingerprint", _SHA),
    ),
    _service(rdtypes.HTTPS, "How to reach a web server: protocols, port, addresses."),
    _service(rdtypes.SVCB, "How to reach a service, at a name such as _dns."),
    Layout(
        rdtypes.NAPTR,
        "A rule that rewrites a name into where a service is (ENUM, SIP).",
        (
            u16("order", "Order", "The lowest is read first.", default="100"),
            u16("preference", "Preference", "Among those of one order.", default="10"),
            Field(
                "flags",
                "Flags",
                Kind.STRING,
                high=255,
                choices=(("S", "S: an SRV follows"), ("A", "A: an address follows"), ("U", "U: a URI"), ("P", "P")),
                required=False,
                is_open=True,
            ),
            Field("service", "Service", Kind.STRING, "Such as SIP+D2U.", high=255, required=False),
            Field(
                "regexp",
                "Regular expression",
                Kind.STRING,
                "As in a zone file: a backslash is written twice.",
                high=255,
                required=False,
            ),
            Field("replacement", "Replacement", Kind.NAME, "“.” where the expression is used.", default="."),
        ),
    ),
    _delegation_signer(rdtypes.DS, "The key by which the zone below this name is signed."),
    _delegation_signer(rdtypes.CDS, "What the zone above is to have as DS."),
    *(
        Layout(
            type,
            "A text, for whoever knows what to make of it.",
            (
                Field(
                    "text",
                    "Text",
                    Kind.STRINGS,
                    "Without quotes it is one text, cut into strings of 255 bytes. A backslash is written twice.",
                ),
            ),
        )
        for type in (rdtypes.TXT, rdtypes.SPF)
    ),
    Layout(
        rdtypes.LOC,
        "Where something stands on the earth.",
        (
            Field("latitude", "Latitude", Kind.LATITUDE, "52.5163, or 52 30 58.6 N."),
            Field("longitude", "Longitude", Kind.LONGITUDE, "13.3777, or 13 22 39.9 E."),
            Field(
                "altitude", "Altitude", Kind.METRES, "Metres above the ellipsoid.", -100_000, 42_849_673, default="0"
            ),
            _metres("size", "Size", "Metres across.", "1"),
            _metres("horizontal", "Horizontal precision", "Metres.", "10000"),
            _metres("vertical", "Vertical precision", "Metres.", "10"),
        ),
        groups={"latitude": 4, "longitude": 4},
    ),
    Layout(
        rdtypes.URI,
        "The address of a service, at a name such as _http._tcp.",
        (_PRIORITY, _WEIGHT, Field("target", "Address", Kind.STRING, "A full one: https://www.example.com/.")),
    ),
    Layout(
        rdtypes.CERT,
        "A certificate or where one is.",
        (
            Field(
                "kind",
                "Type",
                Kind.WORD,
                choices=(
                    ("PKIX", "PKIX: X.509"),
                    ("PGP", "PGP: OpenPGP"),
                    ("SPKI", "SPKI"),
                    ("IPKIX", "IPKIX: address of X.509"),
                    ("IPGP", "IPGP: fingerprint and address of OpenPGP"),
                    ("URI", "URI: of its own kind"),
                    ("OID", "OID: of its own kind"),
                ),
                default="PKIX",
            ),
            u16("tag", "Key tag", default="0"),
            Field("algorithm", "Algorithm", Kind.WORD, "Of the key.", choices=_CERT_ALGORITHMS, default="0"),
            Field("certificate", "Certificate", Kind.BASE64, "Base64; a PEM block is understood."),
        ),
    ),
    Layout(rdtypes.AFSDB, "A server of AFS.", (u16("subtype", "Subtype", default="1"), _name("host", "Server"))),
    Layout(rdtypes.KX, "A key exchanger for this name.", (_PREFERENCE, _name("host", "Server"))),
    Layout(
        rdtypes.RP,
        "Who answers for this name.",
        (
            Field("mailbox", "Mailbox", Kind.MAILBOX, "A mail address is understood."),
            _name("text", "Name of a TXT", "Where there is more to read; “.” for none."),
        ),
    ),
)
LAYOUTS: Mapping[int, Layout] = {layout.type: layout for layout in _LAYOUTS}
