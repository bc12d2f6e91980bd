"""Check the servers that people's imports and comparisons connect to.

People choose these servers, but the panel's network can contain servers that people must not reach. People's jobs
therefore only connect to public addresses and the networks of PANEL_SOURCE_NETWORKS, on usual ports. The functions that
create jobs check the server, so that a form can show the error next to its server field. Each connection checks the
server again and uses the checked address. Jobs that an operator creates at the command line can reach any server,
because a person with a shell can do that anyway.
"""

from collections.abc import Callable, Mapping, Sequence
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings

from dnspanel import outbound
from dnspanel.accounts.actors.actors import Author, Permission, Right, actor_of
from dnspanel.texts import gettext, gettext_noop
from dnspanel.transfer.errors import ServerRefused, SourceAway
from dnspanel.transfer.models import SourceKind
from dnspanel.zones.errors import Forbidden

Addresses = Callable[[str, int], Sequence[str]]  # host, port → addresses to connect to

SERVER_SOURCES = (SourceKind.AXFR, SourceKind.POWERDNS_API, SourceKind.POWERDNS_SQL)
MOST_ADDRESSES = 3  # tried per host
DNS_PORTS = (53,)
# Below this, only the usual ports of such servers are allowed, so that people cannot reach mail or SSH.
_FIRST_FREE_PORT = 1024
_LOW_PORTS = {SourceKind.AXFR: DNS_PORTS, SourceKind.POWERDNS_API: (80, 443), SourceKind.POWERDNS_SQL: ()}
DATABASE_PORTS = {"postgresql": 5432, "mysql": 3306}
_ONLY_FOR_EDITORS_OF_ALL = gettext_noop(
    "To import from a server, you need the right to add records to every zone because other servers "
    "might trust the panel’s address. Upload the zone files instead."
)


def may_read_servers(author: Author) -> bool:
    """Return True if this author is allowed to choose a server to import from.

    The panel itself is allowed, and so are people with the right to add records to every zone.
    """
    actor = None if author is None else actor_of(author)
    return author is None or (actor is not None and actor.may_everywhere(Right.ADD))


def refuse_servers(author: Author) -> None:
    """Raise Forbidden unless the author is allowed to choose a server to import from."""
    if not may_read_servers(author):
        raise Forbidden(Permission.EDIT, gettext(_ONLY_FOR_EDITORS_OF_ALL))


def refuse_source(author: Author, source: str, parameters: Mapping[str, Any]) -> None:
    """Raise Forbidden if the author isn't allowed to choose servers, or ServerRefused if the server isn't allowed.

    The panel's own imports and sources without a server always pass.
    """
    if author is None or source not in SERVER_SOURCES:
        return
    refuse_servers(author)
    kind = SourceKind(source)
    field, host, port = _PLACES[kind](parameters)
    _refuse_port(port, _LOW_PORTS[kind], "port" if "port" in parameters else field)
    _refuse_host(field, host, port)


def refuse_dns_server(
    field: str, address: str, port: int, *, port_field: str, low_ports: Sequence[int] = DNS_PORTS
) -> None:
    """Raise ServerRefused unless `address` is an IP address that people's jobs are allowed to query on this port.

    Ports below 1024 are refused unless they are in `low_ports`.
    """
    try:
        canonical = str(ip_address(address))
    except ValueError:
        raise ServerRefused(field, gettext("Enter a valid IP address.")) from None
    _refuse_port(port, low_ports, port_field)
    _refuse_host(field, canonical, port)


def addresses_for(author: Author) -> Addresses | None:
    """Return the function that maps (host, port) to addresses for an author's job, or None if the author is None.

    The function raises ServerRefused for a host that isn't allowed, and SourceAway for a host without an address.
    """
    return None if author is None else allowed_addresses


def every_address(host: str, port: int) -> Sequence[str]:
    """Return all addresses of a host, including those that aren't allowed. Raise SourceAway if it has none."""
    try:
        return outbound.resolve_host(host, port)
    except outbound.NoAddress as exc:
        raise SourceAway(str(exc)) from exc


def is_allowed(address: str) -> bool:
    """Return True if people's jobs are allowed to connect to this address."""
    return outbound.is_allowed(address, settings.SOURCE_NETWORKS)


def allowed_addresses(host: str, port: int) -> Sequence[str]:
    """Return the host's addresses if people's jobs are allowed to connect to all of them.

    Raise ServerRefused if one isn't allowed or the host is invalid, and SourceAway if the host doesn't have an address.
    """
    try:
        name = outbound.canonical_host(host)
        return outbound.allowed_addresses(name, port, settings.SOURCE_NETWORKS)
    except outbound.NotReachable as exc:
        message = gettext("{exc} The operator can allow networks with PANEL_SOURCE_NETWORKS.").format(exc=exc)
        if isinstance(exc, outbound.NotAllowed):
            raise ServerRefused("", message) from exc
        raise SourceAway(message) from exc
    except outbound.BadHost as exc:
        raise ServerRefused("", str(exc)) from exc


def _refuse_host(field: str, host: str, port: int) -> None:
    try:
        allowed_addresses(host, port)
    except (ServerRefused, SourceAway) as exc:
        raise ServerRefused(field, str(exc)) from exc


def _refuse_port(port: int, low: Sequence[int], field: str) -> None:
    if port not in low and not _FIRST_FREE_PORT <= port <= 65535:
        usual = ", ".join(map(str, low))
        raise ServerRefused(
            field,
            gettext("Port {port} isn’t allowed. Use port {usual}, or port 1024 or higher.").format(
                port=port, usual=usual
            )
            if usual
            else gettext("Port {port} isn’t allowed. Use port 1024 or higher.").format(port=port),
        )


def _axfr(parameters: Mapping[str, Any]) -> tuple[str, str, int]:
    return "server", parameters["server"], parameters["port"]


def _powerdns_api(parameters: Mapping[str, Any]) -> tuple[str, str, int]:
    try:
        parts = urlsplit(parameters["url"].strip())
        port = parts.port
    except ValueError:
        raise ServerRefused("url", gettext("Enter a valid URL.")) from None
    return "url", parts.hostname or "", port or (443 if parts.scheme == "https" else 80)


def _powerdns_sql(parameters: Mapping[str, Any]) -> tuple[str, str, int]:
    kind = parameters["kind"]
    if kind not in DATABASE_PORTS:
        raise ServerRefused(
            "kind",
            gettext(
                "Database files can only be read on the panel server’s command line. Upload a database dump instead."
            ),
        )
    return "host", parameters.get("host") or "", parameters.get("port") or DATABASE_PORTS[kind]


_PLACES: dict[SourceKind, Callable[[Mapping[str, Any]], tuple[str, str, int]]] = {
    SourceKind.AXFR: _axfr,
    SourceKind.POWERDNS_API: _powerdns_api,
    SourceKind.POWERDNS_SQL: _powerdns_sql,
}
