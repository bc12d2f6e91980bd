"""The fields of each record type that has a form, with help texts. Pure."""

from collections.abc import Mapping

from dnspanel.texts import gettext_lazy
from dnspanel.zones.typed import certificate_layouts
from dnspanel.zones.typed.fields import Field, Kind, Layout, u8, u16, u32
from replication.dns import rdtypes

_LATER_NAME = gettext_lazy("Enter a name. A name without a trailing dot is relative to the zone.")

_PRIORITY = u16("priority", gettext_lazy("Priority"), gettext_lazy("Clients try the lowest value first."), default="10")
_PREFERENCE = u16(
    "preference", gettext_lazy("Preference"), gettext_lazy("Clients try the lowest value first."), default="10"
)
_WEIGHT = u16(
    "weight", gettext_lazy("Weight"), gettext_lazy("Relative share among records with the same priority."), default="0"
)


def _name(name: str, label: str, help_text: str = _LATER_NAME) -> Field:
    return Field(name, label, Kind.NAME, help_text)


def _seconds(name: str, label: str, help_text: str, default: str) -> Field:
    return Field(name, label, Kind.SECONDS, help_text, default=default)


def _metres(name: str, label: str, help_text: str, default: str) -> Field:
    return Field(name, label, Kind.METRES, help_text, high=90_000_000, default=default, required=False)


_SERVICE_PARAMETERS = (
    Field(
        "alpn",
        gettext_lazy("Protocols (alpn)"),
        Kind.LIST,
        gettext_lazy("Enter comma-separated protocols, for example h3,h2."),
        choices=(("h3,h2", gettext_lazy("HTTP/3 and HTTP/2")), ("h2", "HTTP/2"), ("dot", gettext_lazy("DNS over TLS"))),
        required=False,
        is_open=True,
    ),
    Field(
        "no-default-alpn",
        gettext_lazy("Only these protocols"),
        Kind.FLAG,
        gettext_lazy("The server doesn’t support the default protocol."),
        required=False,
    ),
    u16(
        "port",
        gettext_lazy("Port"),
        gettext_lazy("Enter the port if the server doesn’t use the default port."),
        required=False,
    ),
    Field(
        "ipv4hint",
        gettext_lazy("IPv4 hints"),
        Kind.LIST,
        gettext_lazy("Enter comma-separated addresses of the target."),
        required=False,
    ),
    Field(
        "ipv6hint",
        gettext_lazy("IPv6 hints"),
        Kind.LIST,
        gettext_lazy("Enter comma-separated addresses of the target."),
        required=False,
    ),
    Field(
        "ech",
        gettext_lazy("Encrypted hello (ech)"),
        Kind.BASE64,
        gettext_lazy("Enter the Base64 value from the server software."),
        required=False,
    ),
    Field(
        "mandatory",
        gettext_lazy("Mandatory"),
        Kind.LIST,
        gettext_lazy("Enter the keys that clients must support, for example alpn,port."),
        required=False,
    ),
    Field(
        "other",
        gettext_lazy("Other parameters"),
        Kind.REST,
        gettext_lazy('Enter parameters as in a zone file, for example dohpath="/q{?dns}".'),
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
                gettext_lazy("0 makes the record an alias of the target. Clients try the lowest other value first."),
                default="1",
            ),
            Field(
                "target",
                gettext_lazy("Target"),
                Kind.NAME,
                gettext_lazy("Enter “.” to use the record’s name."),
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
            _name("primary", gettext_lazy("Primary server"), gettext_lazy("The zone’s primary name server.")),
            Field(
                "mailbox",
                gettext_lazy("Mailbox"),
                Kind.MAILBOX,
                gettext_lazy("Enter the email address of the person responsible for the zone."),
            ),
            u32(
                "serial",
                gettext_lazy("Serial"),
                gettext_lazy(
                    "The serial increases with every publication. A serial that you enter is used only if it’s greater."
                ),
            ),
            _seconds(
                "refresh",
                gettext_lazy("Refresh"),
                gettext_lazy("How often secondaries look for a new serial."),
                "10800",
            ),
            _seconds(
                "retry", gettext_lazy("Retry"), gettext_lazy("How soon secondaries retry after a failed check."), "3600"
            ),
            _seconds(
                "expire",
                gettext_lazy("Expire"),
                gettext_lazy("How long secondaries keep answering if the primary is unreachable."),
                "604800",
            ),
            _seconds(
                "minimum",
                gettext_lazy("Negative TTL"),
                gettext_lazy("How long resolvers can cache the fact that a name doesn’t exist."),
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
                gettext_lazy("Enter the name of the mail server, or “.” if this name doesn’t accept mail."),
            ),
        ),
    ),
    Layout(
        rdtypes.SRV,
        gettext_lazy("The server for a service, at a name such as _sip._tcp."),
        (
            _PRIORITY,
            _WEIGHT,
            u16("port", gettext_lazy("Port")),
            _name(
                "target",
                gettext_lazy("Server"),
                gettext_lazy("Enter the server’s name, or “.” if the service isn’t available in this domain."),
            ),
        ),
    ),
    Layout(
        rdtypes.CAA,
        gettext_lazy("The certificate authorities that can issue certificates for this name and its subdomains."),
        (
            u8(
                "flags",
                gettext_lazy("Flags"),
                choices=(
                    ("0", "0: usual"),
                    ("128", gettext_lazy("128: critical (authorities that don’t support the tag must not issue)")),
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
                    ("iodef", gettext_lazy("iodef: report address")),
                    ("contactemail", gettext_lazy("contactemail: email address")),
                    ("contactphone", gettext_lazy("contactphone: phone number")),
                ),
                default="issue",
            ),
            Field(
                "value",
                gettext_lazy("Value"),
                Kind.STRING,
                gettext_lazy(
                    "Enter the domain of the authority, or “;” to allow no authority. For iodef, enter a mailto: URL."
                ),
            ),
        ),
    ),
    certificate_layouts.TLSA,
    certificate_layouts.SMIMEA,
    certificate_layouts.SSHFP,
    _service(rdtypes.HTTPS, gettext_lazy("Connection parameters for a web server: protocols, port and addresses.")),
    _service(rdtypes.SVCB, gettext_lazy("Connection parameters for a service, at a name such as _dns.")),
    Layout(
        rdtypes.NAPTR,
        gettext_lazy("A rule that rewrites a name into a service’s location (ENUM, SIP)."),
        (
            u16("order", gettext_lazy("Order"), gettext_lazy("Clients process the lowest value first."), default="100"),
            u16(
                "preference",
                gettext_lazy("Preference"),
                gettext_lazy("Priority among records with the same order."),
                default="10",
            ),
            Field(
                "flags",
                gettext_lazy("Flags"),
                Kind.STRING,
                high=255,
                choices=(
                    ("S", gettext_lazy("S: SRV lookup")),
                    ("A", gettext_lazy("A: address lookup")),
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
                gettext_lazy("Enter the service, for example SIP+D2U."),
                high=255,
                required=False,
            ),
            Field(
                "regexp",
                gettext_lazy("Regular expression"),
                Kind.STRING,
                gettext_lazy("Enter the expression as in a zone file, with two backslashes for each backslash."),
                high=255,
                required=False,
            ),
            Field(
                "replacement",
                gettext_lazy("Replacement"),
                Kind.NAME,
                gettext_lazy("Enter “.” if you use a regular expression."),
                default=".",
            ),
        ),
    ),
    certificate_layouts.DS,
    certificate_layouts.CDS,
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
                        "Text without quotes is split into strings of 255 bytes. Enter two backslashes for each "
                        "backslash."
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
            Field(
                "latitude",
                gettext_lazy("Latitude"),
                Kind.LATITUDE,
                gettext_lazy("Enter degrees, for example 52.5163 or 52 30 58.6 N."),
            ),
            Field(
                "longitude",
                gettext_lazy("Longitude"),
                Kind.LONGITUDE,
                gettext_lazy("Enter degrees, for example 13.3777 or 13 22 39.9 E."),
            ),
            Field(
                "altitude",
                gettext_lazy("Altitude"),
                Kind.METRES,
                gettext_lazy("Enter the altitude above the WGS 84 ellipsoid in metres."),
                -100_000,
                42_849_673,
                default="0",
            ),
            _metres("size", gettext_lazy("Size"), gettext_lazy("Enter the diameter in metres."), "1"),
            _metres(
                "horizontal",
                gettext_lazy("Horizontal precision"),
                gettext_lazy("Enter the precision in metres."),
                "10000",
            ),
            _metres(
                "vertical", gettext_lazy("Vertical precision"), gettext_lazy("Enter the precision in metres."), "10"
            ),
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
                "target",
                gettext_lazy("Address"),
                Kind.STRING,
                gettext_lazy("Enter a full URL, for example https://www.example.com/."),
            ),
        ),
    ),
    certificate_layouts.CERT,
    Layout(
        rdtypes.AFSDB,
        gettext_lazy("An AFS server."),
        (u16("subtype", gettext_lazy("Subtype"), default="1"), _name("host", gettext_lazy("Server"))),
    ),
    Layout(
        rdtypes.KX, gettext_lazy("A key exchanger for this name."), (_PREFERENCE, _name("host", gettext_lazy("Server")))
    ),
    Layout(
        rdtypes.RP,
        gettext_lazy("The person responsible for this name."),
        (
            Field(
                "mailbox",
                gettext_lazy("Mailbox"),
                Kind.MAILBOX,
                gettext_lazy("Enter an email address or a domain name."),
            ),
            _name(
                "text",
                gettext_lazy("TXT record name"),
                gettext_lazy("Enter the name of a TXT record with more information, or “.” for no TXT record."),
            ),
        ),
    ),
)
LAYOUTS: Mapping[int, Layout] = {layout.type: layout for layout in _LAYOUTS}
