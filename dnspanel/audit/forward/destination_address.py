"""Parse addresses and headers of destinations, as people type them. Pure."""

from dataclasses import dataclass

from dnspanel.outbound import OutboundError, canonical_host
from dnspanel.texts import gettext
from replication.wire.protocol import join_port

SYSLOG_PORT = 6514  # RFC 5425
# The allowed ports below 1024. All are for logs, so users can't reach mail, SSH or DNS servers.
_LOW_PORTS = frozenset({443, 514, 601})
_FIRST_FREE_PORT = 1024
MOST_HEADERS = 10
LONGEST_HEADERS = 4_000
_TOKEN = frozenset("!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
_OUR_HEADERS = frozenset(
    {
        "accept-encoding",
        "connection",
        "content-encoding",
        "content-length",
        "content-type",
        "host",
        "transfer-encoding",
        "user-agent",
    }
)


@dataclass(frozen=True, slots=True)
class SyslogAddress:
    """A host and a port. Its text form is "logs.example:6514" or "[2001:db8::1]:6514"."""

    host: str
    port: int

    def __str__(self) -> str:
        return join_port(self.host, self.port)


def parse_syslog_address(text: str) -> SyslogAddress:
    """Parse a host and an optional port (default: 6514). Raise ValueError if one of them is invalid or not allowed."""
    text = text.strip()
    if "/" in text:
        raise ValueError(gettext("Enter a host and a port without a scheme or a path, such as logs.example:6514."))
    host, port = text, ""
    if text.startswith("["):
        host, bracket, rest = text[1:].partition("]")
        if not bracket or (rest and not rest.startswith(":")):
            raise ValueError(gettext("Enter an IPv6 address with a port in brackets, such as [2001:db8::1]:6514."))
        port = rest[1:]
    elif text.count(":") == 1:
        host, _, port = text.partition(":")
    try:
        host = canonical_host(host)
    except OutboundError as exc:
        raise ValueError(str(exc)) from exc
    if port and not (port.isascii() and port.isdigit() and len(port) <= 5 and 0 < int(port) <= 65_535):
        raise ValueError(gettext("{port} isn’t a valid port.").format(port=port[:20]))
    number = int(port or SYSLOG_PORT)
    if number < _FIRST_FREE_PORT and number not in _LOW_PORTS:
        raise ValueError(
            gettext(
                "Port {number} isn’t allowed for logs. Use port {syslog_port}, or port {first_free_port} or higher."
            ).format(number=number, syslog_port=SYSLOG_PORT, first_free_port=_FIRST_FREE_PORT)
        )
    return SyslogAddress(host, number)


def parse_headers(text: str) -> dict[str, str]:
    """Parse headers, one "Name: value" per line. Raise ValueError, omitting the value, if the text is invalid."""
    if len(text) > LONGEST_HEADERS:
        raise ValueError(
            gettext("Enter at most {longest_headers:,} characters.").format(longest_headers=LONGEST_HEADERS)
        )
    found: dict[str, str] = {}
    for number, line in enumerate(filter(str.strip, text.split("\n")), 1):
        name, colon, value = line.partition(":")
        name, value = name.strip(), value.strip()
        if not colon or not name or not value or not set(name) <= _TOKEN:
            raise ValueError(gettext("Enter a name, a colon and a value in line {number}.").format(number=number))
        if not value.isascii() or not value.isprintable():
            raise ValueError(
                gettext("Header values must be printable ASCII characters (line {number}).").format(number=number)
            )
        if name.lower() in _OUR_HEADERS or name.lower() in {each.lower() for each in found}:
            raise ValueError(gettext("The header {name} is already set.").format(name=name))
        found[name] = value
    if len(found) > MOST_HEADERS:
        raise ValueError(gettext("Enter at most {most_headers} headers.").format(most_headers=MOST_HEADERS))
    return found


def format_headers(headers: dict[str, str]) -> str:
    """Format headers as text that `parse_headers` accepts."""
    return "\n".join(f"{name}: {value}" for name, value in headers.items())
