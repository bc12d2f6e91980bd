"""The parser of addresses and headers of destinations, as people type them. Pure."""

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
    """Parse a host and an optional port (default: syslog over TLS). Raise ValueError if the text is invalid."""
    text = text.strip()
    if "/" in text:
        raise ValueError(gettext("Give a host and a port, such as logs.example:6514, without a scheme or a path."))
    host, port = text, ""
    if text.startswith("["):
        host, bracket, rest = text[1:].partition("]")
        if not bracket or (rest and not rest.startswith(":")):
            raise ValueError(gettext("Write an IPv6 address with a port as [2001:db8::1]:6514."))
        port = rest[1:]
    elif text.count(":") == 1:
        host, _, port = text.partition(":")
    try:
        host = canonical_host(host)
    except OutboundError as exc:
        raise ValueError(str(exc)) from exc
    if port and not (port.isascii() and port.isdigit() and len(port) <= 5 and 0 < int(port) <= 65_535):
        raise ValueError(gettext("{port} is not a port.").format(port=port[:20]))
    number = int(port or SYSLOG_PORT)
    if number < _FIRST_FREE_PORT and number not in _LOW_PORTS:
        raise ValueError(
            gettext("Port {number} is not one for logs: use {syslog_port}, or one from {first_free_port} on.").format(
                number=number, syslog_port=SYSLOG_PORT, first_free_port=_FIRST_FREE_PORT
            )
        )
    return SyslogAddress(host, number)


def parse_headers(text: str) -> dict[str, str]:
    """Parse request headers from lines "Name: value". Raise ValueError if one is invalid, without quoting its value."""
    if len(text) > LONGEST_HEADERS:
        raise ValueError(gettext("At most {longest_headers:,} characters.").format(longest_headers=LONGEST_HEADERS))
    found: dict[str, str] = {}
    for number, line in enumerate(filter(str.strip, text.split("\n")), 1):
        name, colon, value = line.partition(":")
        name, value = name.strip(), value.strip()
        if not colon or not name or not value or not set(name) <= _TOKEN:
            raise ValueError(gettext("Line {number} is not a name, a colon and a value.").format(number=number))
        if not value.isascii() or not value.isprintable():
            raise ValueError(gettext("Line {number} has characters that no header has.").format(number=number))
        if name.lower() in _OUR_HEADERS or name.lower() in {each.lower() for each in found}:
            raise ValueError(gettext("{name} is there already.").format(name=name))
        found[name] = value
    if len(found) > MOST_HEADERS:
        raise ValueError(gettext("At most {most_headers} headers.").format(most_headers=MOST_HEADERS))
    return found


def format_headers(headers: dict[str, str]) -> str:
    """Format headers as text that `parse_headers` can parse."""
    return "\n".join(f"{name}: {value}" for name, value in headers.items())
