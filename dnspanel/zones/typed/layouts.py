"""The fields of each type that has a form, with help texts. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from dnspanel.texts import gettext_lazy
from dnspanel.zones.typed.fields import Field, Kind, u8, u16, u32
from replication.dns import rdtypes

Choices = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Digest:
    """A digest whose length depends on the field `by`. `lengths` maps the field's words to (bytes, algorithm name)."""

    by: str
    data: str
    lengths: Mapping[str, tuple[int, str]]


@dataclass(frozen=True, slots=True)
class Layout:
    """The fields of a type in the order of its text. Fields in `parameters` are written as `key=value`."""

    type: int
    purpose: str
    fields: tuple[Field, ...]
    parameters: tuple[Field, ...] = ()
    digest: Digest | None = None
    is_single: bool = False  # a name has at most one
    groups: Mapping[str, int] = field(default_factory=dict)  # fields with several words

    @property
    def all_fields(self) -> tuple[Field, ...]:
        return self.fields + self.parameters


_ALGORITHMS: Choices = (
    ("8", gettext_lazy("8: RSA/SHA-256")),
    ("10", gettext_lazy("10: RSA/SHA-512")),
    ("13", gettext_lazy("13: ECDSA P-256/SHA-256")),
    ("14", gettext_lazy("14: ECDSA P-384/SHA-384")),
    ("15", "15: Ed25519"),
    ("16", "16: Ed448"),
)
_DIGESTS: Choices = (("2", "2: SHA-256"), ("4", "4: SHA-384"), ("1", gettext_lazy("1: SHA-1, not for new ones")))
_MATCHINGS: Choices = (
    ("1", gettext_lazy("1: its SHA-256")),
    ("2", gettext_lazy("2: its SHA-512")),
    ("0", gettext_lazy("0: all of it")),
)
_SELECTORS: Choices = (("1", gettext_lazy("1: the public key")), ("0", gettext_lazy("0: the whole certificate")))
_USAGES: Choices = (
    ("3", gettext_lazy("3: this server’s certificate, from any issuer (DANE-EE)")),
    ("2", gettext_lazy("2: an authority of our own (DANE-TA)")),
    ("1", gettext_lazy("1: this certificate, and a public authority too (PKIX-EE)")),
    ("0", gettext_lazy("0: this public authority (PKIX-TA)")),
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
_LATER_NAME = gettext_lazy("Without a final dot it is below this zone.")

_PRIORITY = u16("priority", gettext_lazy("Priority"), gettext_lazy("The lowest is tried first."), default="10")
_PREFERENCE = u16("preference", gettext_lazy("Preference"), gettext_lazy("The lowest is tried first."), default="10")
_WEIGHT = u16("weight", gettext_lazy("Weight"), gettext_lazy("Its share among those of one priority."), default="0")


def _name(name: str, label: str, help_text: str = _LATER_NAME) -> Field:
    return Field(name, label, Kind.NAME, help_text)


def _seconds(name: str, label: str, help_text: str, default: str) -> Field:
    return Field(name, label, Kind.SECONDS, help_text, default=default)


def _metres(name: str, label: str, help_text: str, default: str) -> Field:
    return Field(name, label, Kind.METRES, help_text, high=90_000_000, default=default, required=False)


def _hex(
    name: str, label: str, help_text: str = gettext_lazy("Hexadecimal digits; spaces and colons are skipped.")
) -> Field:
    return Field(name, label, Kind.HEX, help_text)


def _certificate_layout(type: int, purpose: str) -> Layout:
    return Layout(
        type,
        purpose,
        (
            u8(
                "usage",
                gettext_lazy("Usage"),
                gettext_lazy("What the certificate is to those who connect."),
                choices=_USAGES,
                default="3",
            ),
            u8(
                "selector", gettext_lazy("Selector"), gettext_lazy("What is compared."), choices=_SELECTORS, default="1"
            ),
            u8(
                "matching",
                gettext_lazy("Matching"),
                gettext_lazy("How it is compared."),
                choices=_MATCHINGS,
                default="1",
            ),
            _hex("certificate", gettext_lazy("Certificate data")),
        ),
        digest=_MATCHED,
    )


def _delegation_signer(type: int, purpose: str) -> Layout:
    return Layout(
        type,
        purpose,
        (
            u16("tag", gettext_lazy("Key tag")),
            u8("algorithm", gettext_lazy("Algorithm"), gettext_lazy("Of the key."), choices=_ALGORITHMS, default="13"),
            u8("digest_type", gettext_lazy("Digest type"), choices=_DIGESTS, default="2"),
            _hex("digest", gettext_lazy("Digest")),
        ),
        digest=Digest("digest_type", "digest", _SHA | {"4": (48, "SHA-384")}),
    )


_SERVICE_PARAMETERS = (
    Field(
        "alpn",
        gettext_lazy("Protocols (alpn)"),
        Kind.LIST,
        gettext_lazy("With commas between them: h3,h2."),
        choices=(
            ("h3,h2", gettext_lazy("HTTP/3 and HTTP/2")),
            ("h2", "HTTP/2"),
            ("dot", gettext_lazy("DNS over TLS")),
        ),
        required=False,
        is_open=True,
    ),
    Field(
        "no-default-alpn",
        gettext_lazy("Only these protocols"),
        Kind.FLAG,
        gettext_lazy("The protocol that every such server has is not spoken here."),
        required=False,
    ),
    u16("port", gettext_lazy("Port"), gettext_lazy("Where it is not the usual one."), required=False),
    Field(
        "ipv4hint",
        gettext_lazy("IPv4 hints"),
        Kind.LIST,
        gettext_lazy("Addresses of the target, with commas."),
        required=False,
    ),
    Field(
        "ipv6hint",
        gettext_lazy("IPv6 hints"),
        Kind.LIST,
        gettext_lazy("Addresses of the target, with commas."),
        required=False,
    ),
    Field(
        "ech",
        gettext_lazy("Encrypted hello (ech)"),
        Kind.BASE64,
        gettext_lazy("Base64, as the server’s program prints it."),
        required=False,
    ),
    Field(
        "mandatory",
        gettext_lazy("Mandatory"),
        Kind.LIST,
        gettext_lazy("Keys that a client must know, such as alpn,port."),
        required=False,
    ),
    Field(
        "other",
        gettext_lazy("Other parameters"),
        Kind.REST,
        gettext_lazy('As in a zone file: dohpath="/q{?dns}".'),
        required=False,
    ),
)


def _service(type: int, purpose: str) -> Layout:
    return Layout(
        type,
        purpose,
        (
            u16(
                "priority",
                gettext_lazy("Priority"),
                gettext_lazy("0 makes it an alias of the target; else the lowest is tried first."),
                default="1",
            ),
            Field(
                "target",
                gettext_lazy("Target"),
                Kind.NAME,
                gettext_lazy("“.” is the name of the record itself."),
                default=".",
            ),
        ),
        _SERVICE_PARAMETERS,
    )


_LAYOUTS = (
    Layout(
        rdtypes.SOA,
        gettext_lazy("Information about the zone for secondaries and resolvers."),
        (
            _name("primary", gettext_lazy("Primary server"), gettext_lazy("The name server that the zone comes from.")),
            Field(
                "mailbox",
                gettext_lazy("Mailbox"),
                Kind.MAILBOX,
                gettext_lazy("The mailbox of the person responsible for the zone. You can enter a mail address."),
            ),
            u32(
                "serial",
                gettext_lazy("Serial"),
                gettext_lazy(
                    "The serial increases with every publication. A serial that you enter counts only if it is greater."
                ),
            ),
            _seconds(
                "refresh",
                gettext_lazy("Refresh"),
                gettext_lazy("How often secondaries look for a new serial."),
                "10800",
            ),
            _seconds("retry", gettext_lazy("Retry"), gettext_lazy("How soon they try again."), "3600"),
            _seconds(
                "expire", gettext_lazy("Expire"), gettext_lazy("How long they answer without the primary."), "604800"
            ),
            _seconds(
                "minimum",
                gettext_lazy("Negative TTL"),
                gettext_lazy("How long resolvers may keep that a name does not exist."),
                "3600",
            ),
        ),
        is_single=True,
    ),
    Layout(
        rdtypes.MX,
        gettext_lazy("A server that accepts mail for this name."),
        (
            _PREFERENCE,
            _name(
                "host",
                gettext_lazy("Mail server"),
                gettext_lazy("Name of the mail server. “.” means that this name accepts no mail."),
            ),
        ),
    ),
    Layout(
        rdtypes.SRV,
        gettext_lazy("Where a service is, at a name such as _sip._tcp."),
        (
            _PRIORITY,
            _WEIGHT,
            u16("port", gettext_lazy("Port")),
            _name(
                "target",
                gettext_lazy("Server"),
                gettext_lazy("Name of the server. “.” means that this name does not have the service."),
            ),
        ),
    ),
    Layout(
        rdtypes.CAA,
        gettext_lazy("The authorities that are allowed to issue certificates for this name and the names below it."),
        (
            u8(
                "flags",
                gettext_lazy("Flags"),
                choices=(
                    ("0", "0: usual"),
                    ("128", gettext_lazy("128: authorities that do not know the tag must not issue")),
                ),
                default="0",
            ),
            Field(
                "tag",
                gettext_lazy("Tag"),
                Kind.WORD,
                choices=(
                    ("issue", gettext_lazy("issue: allowed authority")),
                    ("issuewild", gettext_lazy("issuewild: allowed authority for wildcards")),
                    ("issuemail", gettext_lazy("issuemail: allowed authority for mail (S/MIME)")),
                    ("issuevmc", gettext_lazy("issuevmc: allowed authority for marks (BIMI)")),
                    ("iodef", gettext_lazy("iodef: where to report")),
                    ("contactemail", gettext_lazy("contactemail: a mail address")),
                    ("contactphone", gettext_lazy("contactphone: a telephone number")),
                ),
                default="issue",
            ),
            Field(
                "value",
                gettext_lazy("Value"),
                Kind.STRING,
                gettext_lazy("Name of the authority. “;” allows none. For iodef, a mailto: address."),
            ),
        ),
    ),
    _certificate_layout(
        rdtypes.TLSA, gettext_lazy("The certificate of a TLS server, at a name such as _443._tcp.www.")
    ),
    _certificate_layout(rdtypes.SMIMEA, gettext_lazy("The certificate of a mail address.")),
    Layout(
        rdtypes.SSHFP,
        gettext_lazy("The fingerprint of an SSH server’s key."),
        (
            u8(
                "algorithm",
                gettext_lazy("Algorithm"),
                choices=(("4", "4: Ed25519"), ("3", "3: ECDSA"), ("1", "1: RSA"), ("6", "6: Ed448"), ("2", "2: DSA")),
                default="4",
            ),
            u8(
                "fingerprint_type",
                gettext_lazy("Fingerprint type"),
                choices=(("2", "2: SHA-256"), ("1", "1: SHA-1")),
                default="2",
            ),
            _hex("fingerprint", gettext_lazy("Fingerprint")),
        ),
        digest=Digest("fingerprint_type", "fingerprint", _SHA),
    ),
    _service(rdtypes.HTTPS, gettext_lazy("How to reach a web server: protocols, port, addresses.")),
    _service(rdtypes.SVCB, gettext_lazy("How to reach a service, at a name such as _dns.")),
    Layout(
        rdtypes.NAPTR,
        gettext_lazy("A rule that rewrites a name into where a service is (ENUM, SIP)."),
        (
            u16("order", gettext_lazy("Order"), gettext_lazy("The lowest is read first."), default="100"),
            u16("preference", gettext_lazy("Preference"), gettext_lazy("Among those of one order."), default="10"),
            Field(
                "flags",
                gettext_lazy("Flags"),
                Kind.STRING,
                high=255,
                choices=(
                    ("S", gettext_lazy("S: an SRV follows")),
                    ("A", gettext_lazy("A: an address follows")),
                    ("U", "U: a URI"),
                    ("P", "P"),
                ),
                required=False,
                is_open=True,
            ),
            Field(
                "service",
                gettext_lazy("Service"),
                Kind.STRING,
                gettext_lazy("Such as SIP+D2U."),
                high=255,
                required=False,
            ),
            Field(
                "regexp",
                gettext_lazy("Regular expression"),
                Kind.STRING,
                gettext_lazy("As in a zone file: a backslash is written twice."),
                high=255,
                required=False,
            ),
            Field(
                "replacement",
                gettext_lazy("Replacement"),
                Kind.NAME,
                gettext_lazy("“.” where the expression is used."),
                default=".",
            ),
        ),
    ),
    _delegation_signer(rdtypes.DS, gettext_lazy("The key that signs the zone below this name.")),
    _delegation_signer(rdtypes.CDS, gettext_lazy("The DS that the parent zone should have.")),
    *(
        Layout(
            type,
            gettext_lazy("A text for any purpose."),
            (
                Field(
                    "text",
                    gettext_lazy("Text"),
                    Kind.STRINGS,
                    gettext_lazy(
                        "Without quotes it is one text, cut into strings of 255 bytes. A backslash is written twice."
                    ),
                ),
            ),
        )
        for type in (rdtypes.TXT, rdtypes.SPF)
    ),
    Layout(
        rdtypes.LOC,
        gettext_lazy("A location on Earth."),
        (
            Field("latitude", gettext_lazy("Latitude"), Kind.LATITUDE, gettext_lazy("52.5163, or 52 30 58.6 N.")),
            Field("longitude", gettext_lazy("Longitude"), Kind.LONGITUDE, gettext_lazy("13.3777, or 13 22 39.9 E.")),
            Field(
                "altitude",
                gettext_lazy("Altitude"),
                Kind.METRES,
                gettext_lazy("Metres above the ellipsoid."),
                -100_000,
                42_849_673,
                default="0",
            ),
            _metres("size", gettext_lazy("Size"), gettext_lazy("Metres across."), "1"),
            _metres("horizontal", gettext_lazy("Horizontal precision"), gettext_lazy("Metres."), "10000"),
            _metres("vertical", gettext_lazy("Vertical precision"), gettext_lazy("Metres."), "10"),
        ),
        groups={"latitude": 4, "longitude": 4},
    ),
    Layout(
        rdtypes.URI,
        gettext_lazy("The address of a service, at a name such as _http._tcp."),
        (
            _PRIORITY,
            _WEIGHT,
            Field(
                "target", gettext_lazy("Address"), Kind.STRING, gettext_lazy("A full one: https://www.example.com/.")
            ),
        ),
    ),
    Layout(
        rdtypes.CERT,
        gettext_lazy("A certificate or where one is."),
        (
            Field(
                "kind",
                gettext_lazy("Type"),
                Kind.WORD,
                choices=(
                    ("PKIX", "PKIX: X.509"),
                    ("PGP", gettext_lazy("PGP: OpenPGP")),
                    ("SPKI", "SPKI"),
                    ("IPKIX", gettext_lazy("IPKIX: address of X.509")),
                    ("IPGP", gettext_lazy("IPGP: fingerprint and address of OpenPGP")),
                    ("URI", gettext_lazy("URI: of its own kind")),
                    ("OID", gettext_lazy("OID: of its own kind")),
                ),
                default="PKIX",
            ),
            u16("tag", gettext_lazy("Key tag"), default="0"),
            Field(
                "algorithm",
                gettext_lazy("Algorithm"),
                Kind.WORD,
                gettext_lazy("Of the key."),
                choices=_CERT_ALGORITHMS,
                default="0",
            ),
            Field(
                "certificate",
                gettext_lazy("Certificate"),
                Kind.BASE64,
                gettext_lazy("Base64; a PEM block is understood."),
            ),
        ),
    ),
    Layout(
        rdtypes.AFSDB,
        gettext_lazy("A server of AFS."),
        (u16("subtype", gettext_lazy("Subtype"), default="1"), _name("host", gettext_lazy("Server"))),
    ),
    Layout(
        rdtypes.KX, gettext_lazy("A key exchanger for this name."), (_PREFERENCE, _name("host", gettext_lazy("Server")))
    ),
    Layout(
        rdtypes.RP,
        gettext_lazy("The person responsible for this name."),
        (
            Field("mailbox", gettext_lazy("Mailbox"), Kind.MAILBOX, gettext_lazy("You can enter a mail address.")),
            _name(
                "text",
                gettext_lazy("Name of a TXT"),
                gettext_lazy("Name of a TXT record with more information. “.” means none."),
            ),
        ),
    ),
)
LAYOUTS: Mapping[int, Layout] = {layout.type: layout for layout in _LAYOUTS}
