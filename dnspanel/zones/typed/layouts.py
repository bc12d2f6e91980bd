"""The fields of each record type that has a form, with help texts. Pure."""

from collections.abc import Mapping

from dnspanel.texts import gettext_lazy as _
from dnspanel.zones.typed import certificate_layouts
from dnspanel.zones.typed.fields import Field, Kind, Layout, layout, u8, u16, u32
from dnspanel.zones.typed.rare_layouts import RARE
from replication.dns import rdtypes

_LATER_NAME = _("Enter a name. A name without a trailing dot is relative to the zone.")

_PRIORITY = u16("priority", _("Priority"), _("Clients try the lowest value first."), default="10")
_PREFERENCE = u16("preference", _("Preference"), _("Clients try the lowest value first."), default="10")
_WEIGHT = u16("weight", _("Weight"), _("Relative share among records with the same priority."), default="0")


def _name(name: str, label: str, help_text: str = _LATER_NAME) -> Field:
    return Field(name, label, Kind.NAME, help_text)


def _seconds(name: str, label: str, help_text: str, default: str) -> Field:
    return Field(name, label, Kind.SECONDS, help_text, default=default)


def _metres(name: str, label: str, help_text: str, default: str) -> Field:
    return Field(name, label, Kind.METRES, help_text, high=90_000_000, default=default, required=False)


_SERVICE_PARAMETERS = (
    Field(
        "alpn",
        _("Protocols (alpn)"),
        Kind.LIST,
        _("Enter comma-separated protocols, for example h3,h2."),
        choices=(("h3,h2", _("HTTP/3 and HTTP/2")), ("h2", "HTTP/2"), ("dot", _("DNS over TLS"))),
        required=False,
        is_open=True,
    ),
    Field(
        "no-default-alpn",
        _("Only these protocols"),
        Kind.FLAG,
        _("The server doesn’t support the default protocol."),
        required=False,
    ),
    u16("port", _("Port"), _("Enter the port if the server doesn’t use the default port."), required=False),
    Field("ipv4hint", _("IPv4 hints"), Kind.LIST, _("Enter comma-separated addresses of the target."), required=False),
    Field("ipv6hint", _("IPv6 hints"), Kind.LIST, _("Enter comma-separated addresses of the target."), required=False),
    Field(
        "ech",
        _("Encrypted hello (ech)"),
        Kind.BASE64,
        _("Enter the Base64 value from the server software."),
        required=False,
    ),
    Field(
        "mandatory",
        _("Mandatory"),
        Kind.LIST,
        _("Enter the keys that clients must support, for example alpn,port."),
        required=False,
    ),
    Field(
        "other",
        _("Other parameters"),
        Kind.REST,
        _('Enter parameters as in a zone file, for example dohpath="/q{?dns}".'),
        required=False,
    ),
)


def _service(type: int, purpose: str) -> Layout:
    return layout(
        type,
        purpose,
        u16(
            "priority",
            _("Priority"),
            _("0 makes the record an alias of the target. Clients try the lowest other value first."),
            default="1",
        ),
        Field("target", _("Target"), Kind.NAME, _("Enter “.” to use the record’s name."), default="."),
        parameters=_SERVICE_PARAMETERS,
    )


_LAYOUTS = (
    layout(
        rdtypes.SOA,
        _("Information about the zone for secondaries and resolvers."),
        _name("primary", _("Primary server"), _("The zone’s primary name server.")),
        Field(
            "mailbox", _("Mailbox"), Kind.MAILBOX, _("Enter the email address of the person responsible for the zone.")
        ),
        u32(
            "serial",
            _("Serial"),
            _("The serial increases with every publication. A serial that you enter is used only if it’s greater."),
        ),
        _seconds("refresh", _("Refresh"), _("How often secondaries look for a new serial."), "10800"),
        _seconds("retry", _("Retry"), _("How soon secondaries retry after a failed check."), "3600"),
        _seconds(
            "expire", _("Expire"), _("How long secondaries keep answering if the primary is unreachable."), "604800"
        ),
        _seconds(
            "minimum", _("Negative TTL"), _("How long resolvers can cache the fact that a name doesn’t exist."), "3600"
        ),
        is_single=True,
    ),
    layout(
        rdtypes.MX,
        _("A server that accepts mail for this name."),
        _PREFERENCE,
        _name(
            "host", _("Mail server"), _("Enter the name of the mail server, or “.” if this name doesn’t accept mail.")
        ),
    ),
    layout(
        rdtypes.SRV,
        _("The server for a service, at a name such as _sip._tcp."),
        _PRIORITY,
        _WEIGHT,
        u16("port", _("Port")),
        _name(
            "target", _("Server"), _("Enter the server’s name, or “.” if the service isn’t available in this domain.")
        ),
    ),
    layout(
        rdtypes.CAA,
        _("The certificate authorities that can issue certificates for this name and its subdomains."),
        u8(
            "flags",
            _("Flags"),
            choices=(
                ("0", "0: usual"),
                ("128", _("128: critical (authorities that don’t support the tag must not issue)")),
            ),
            default="0",
        ),
        Field(
            "tag",
            _("Tag"),
            Kind.WORD,
            choices=(
                ("issue", _("issue: allowed authority")),
                ("issuewild", _("issuewild: allowed authority for wildcards")),
                ("issuemail", _("issuemail: allowed authority for mail (S/MIME)")),
                ("issuevmc", _("issuevmc: allowed authority for marks (BIMI)")),
                ("iodef", _("iodef: report address")),
                ("contactemail", _("contactemail: email address")),
                ("contactphone", _("contactphone: phone number")),
            ),
            default="issue",
        ),
        Field(
            "value",
            _("Value"),
            Kind.STRING,
            _("Enter the domain of the authority, or “;” to allow no authority. For iodef, enter a mailto: URL."),
        ),
    ),
    certificate_layouts.TLSA,
    certificate_layouts.SMIMEA,
    certificate_layouts.SSHFP,
    _service(rdtypes.HTTPS, _("Connection parameters for a web server: protocols, port and addresses.")),
    _service(rdtypes.SVCB, _("Connection parameters for a service, at a name such as _dns.")),
    layout(
        rdtypes.NAPTR,
        _("A rule that rewrites a name into a service’s location (ENUM, SIP)."),
        u16("order", _("Order"), _("Clients process the lowest value first."), default="100"),
        u16("preference", _("Preference"), _("Priority among records with the same order."), default="10"),
        Field(
            "flags",
            _("Flags"),
            Kind.STRING,
            high=255,
            choices=(("S", _("S: SRV lookup")), ("A", _("A: address lookup")), ("U", "U: a URI"), ("P", "P")),
            required=False,
            is_open=True,
        ),
        Field(
            "service", _("Service"), Kind.STRING, _("Enter the service, for example SIP+D2U."), high=255, required=False
        ),
        Field(
            "regexp",
            _("Regular expression"),
            Kind.STRING,
            _("Enter the expression as in a zone file, with two backslashes for each backslash."),
            high=255,
            required=False,
        ),
        Field("replacement", _("Replacement"), Kind.NAME, _("Enter “.” if you use a regular expression."), default="."),
    ),
    certificate_layouts.DS,
    certificate_layouts.CDS,
    *(
        layout(
            type,
            _("A text for any purpose."),
            Field(
                "text",
                _("Text"),
                Kind.STRINGS,
                _("Text without quotes is split into strings of 255 bytes. Enter two backslashes for each backslash."),
            ),
        )
        for type in (rdtypes.TXT, rdtypes.SPF)
    ),
    layout(
        rdtypes.LOC,
        _("A location on Earth."),
        Field("latitude", _("Latitude"), Kind.LATITUDE, _("Enter degrees, for example 52.5163 or 52 30 58.6 N.")),
        Field("longitude", _("Longitude"), Kind.LONGITUDE, _("Enter degrees, for example 13.3777 or 13 22 39.9 E.")),
        Field(
            "altitude",
            _("Altitude"),
            Kind.METRES,
            _("Enter the altitude above the WGS 84 ellipsoid in metres."),
            -100_000,
            42_849_673,
            default="0",
        ),
        _metres("size", _("Size"), _("Enter the diameter in metres."), "1"),
        _metres("horizontal", _("Horizontal precision"), _("Enter the precision in metres."), "10000"),
        _metres("vertical", _("Vertical precision"), _("Enter the precision in metres."), "10"),
        groups={"latitude": 4, "longitude": 4},
    ),
    layout(
        rdtypes.URI,
        _("The address of a service, at a name such as _http._tcp."),
        _PRIORITY,
        _WEIGHT,
        Field("target", _("Address"), Kind.STRING, _("Enter a full URL, for example https://www.example.com/.")),
    ),
    certificate_layouts.CERT,
    layout(rdtypes.AFSDB, _("An AFS server."), u16("subtype", _("Subtype"), default="1"), _name("host", _("Server"))),
    layout(rdtypes.KX, _("A key exchanger for this name."), _PREFERENCE, _name("host", _("Server"))),
    layout(
        rdtypes.RP,
        _("The person responsible for this name."),
        Field("mailbox", _("Mailbox"), Kind.MAILBOX, _("Enter an email address or a domain name.")),
        _name(
            "text",
            _("TXT record name"),
            _("Enter the name of a TXT record with more information, or “.” for no TXT record."),
        ),
    ),
)
LAYOUTS: Mapping[int, Layout] = {layout.type: layout for layout in (*_LAYOUTS, *RARE)}
