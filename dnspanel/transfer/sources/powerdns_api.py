"""Read zones from a running PowerDNS server through its HTTP API (releases 4.7 to 5.1).

Each zone takes three requests: its RRsets (streamed), its metadata and its DNSSEC keys. Each key takes one more
request, because the list of keys lacks the private parts.

The module uses http.client instead of urllib3, because PowerDNS closes the connection after each response, so a
connection pool is useless. With urllib3, a thousand small zones took 1.6 times the CPU time.
"""

import http.client
import socket
import ssl
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from typing import Any
from urllib.parse import quote, urlsplit

from dnspanel.texts import gettext, gettext_noop
from dnspanel.transfer.allowed_servers import Addresses, every_address
from dnspanel.transfer.documents import Item, Kept, SourceFault
from dnspanel.transfer.errors import SourceAway, SourceRefused
from dnspanel.transfer.sources import powerdns
from dnspanel.transfer.sources.json_stream import BadJson, members
from dnspanel.transfer.sources.prefetch import in_order
from dnspanel.transfer.sources.source_connections import Connections, connect
from dnspanel.transfer.zonefile.writer import ZoneText, comment_text
from dnspanel.zones.rules.violations import Severity
from replication.dns import names
from replication.errors import BadName

TIMEOUT_SECONDS = 60.0
WORKERS = 4

_REFUSES_KEY = gettext_noop("the PowerDNS server rejected the API key")
_NOT_POWERDNS = gettext_noop("the server doesn’t provide the HTTP API of a PowerDNS authoritative server")
# Two messages for each kind of data: reading failed, and the server does not offer the data.
_METADATA_LEFT = (
    gettext_noop("the zone’s metadata couldn’t be read: {exc}"),
    gettext_noop("the server doesn’t return the zone’s metadata"),
)
_KEYS_LEFT = (
    gettext_noop("the zone’s DNSSEC keys couldn’t be read: {exc}"),
    gettext_noop("the server doesn’t return the zone’s DNSSEC keys"),
)


class _Missing(Exception):
    """Raised if the server does not have the requested object (404)."""


class _Failed(Exception):
    """Raised if the server failed to answer a request. The error's text is a message for the user."""


@dataclass(frozen=True, slots=True)
class _Zone:
    """A zone in the server's list. `fields` has the PowerDNS fields that zones in the panel don't have."""

    name: str
    id: str
    kind: str
    fields: tuple[tuple[str, str], ...]


class PowerdnsApiSource:
    """A PowerDNS server's zones, either all or those in a list. `total` counts zones."""

    unit = "zones"

    def __init__(  # noqa: PLR0913  # the settings of a source
        self,
        url: str,
        key: str,
        server_id: str = "localhost",
        zones: Iterable[str] | None = None,
        *,
        timeout: float = TIMEOUT_SECONDS,
        workers: int = WORKERS,
        addresses: Addresses = every_address,
    ) -> None:
        """Prepare to read from a server at `url`, such as `https://host:8081`.

        `addresses` returns the host's addresses. Raise SourceRefused if the URL, key or a zone name is invalid.
        """
        self._api = _Api.at(url, key, server_id, timeout, addresses)
        self._requested = None if zones is None else {_name(zone) for zone in zones}
        self._workers = workers
        self.total = 0
        self.done = 0

    def cut(self) -> None:
        """Abort all requests."""
        self._api.connections.cut()

    def items(self, skip: int = 0) -> Iterator[Item]:
        """Yield the TSIG keys, the faults of the zone list, and the items of each zone, without the first `skip` items.

        The items of a zone are a note, its document or a fault, and data to keep. Zones are sorted by name. Raise
        SourceRefused or SourceAway if the server can't be used or reached.
        """
        return islice(self._items(), skip, None)

    def _items(self) -> Iterator[Item]:
        self.done = 0
        self._api.check()
        yield from self._api.tsig_keys()
        zones, faults = self._zones()
        self.total = len(zones)
        yield from faults
        for items in in_order(self._api.items_of, zones, self._workers):
            self.done += 1
            yield from items

    def _zones(self) -> tuple[list[_Zone], list[SourceFault]]:
        zones: dict[str, _Zone] = {}
        faults: list[SourceFault] = []
        for entry in self._api.zone_list():
            listed_name = str(entry.get("name", ""))
            base, _, variant = listed_name.partition("..")
            try:
                name = names.parse(powerdns.owner(base if variant else listed_name))
            except BadName as exc:
                faults.append(powerdns.unusable_name("zones", listed_name, str(exc)))
                continue
            if self._requested is not None and name not in self._requested:
                continue
            if variant:
                faults.append(powerdns.variant_zone(name, variant.rstrip(".")))
            else:
                zones[name] = _Zone(name, str(entry.get("id", listed_name)), str(entry.get("kind", "")), _fields(entry))
        for name in sorted((self._requested or set()) - zones.keys()):
            faults.append(
                SourceFault(name, 0, 0, "", gettext("the server doesn’t have this zone"), "unknown-zone", zone=name)
            )
        return [zone for _, zone in sorted(zones.items())], faults


def _name(text: str) -> str:
    try:
        return names.parse(text)
    except BadName as exc:
        raise SourceRefused(str(exc)) from exc


def _fields(entry: dict[str, Any]) -> tuple[tuple[str, str], ...]:
    fields = {
        "account": entry.get("account") or "",
        "primaries": " ".join(map(str, entry.get("masters") or ())),
        "catalog": entry.get("catalog") or "",
    }
    return tuple((name, str(value)) for name, value in fields.items() if value)


@dataclass(frozen=True)
class _Api:
    """One server's API. Every request has its own connection, because PowerDNS closes it after each response."""

    scheme: str
    host: str
    port: int
    base: str
    key: str = field(repr=False)
    timeout: float
    addresses: Addresses
    connections: Connections = field(default_factory=Connections)

    @classmethod
    def at(cls, url: str, key: str, server_id: str, timeout: float, addresses: Addresses) -> "_Api":
        try:
            parts = urlsplit(url.strip())
            port = parts.port
        except ValueError:
            raise SourceRefused(gettext("the PowerDNS server’s address isn’t a URL")) from None
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise SourceRefused(gettext("enter the PowerDNS server’s address as https://host:8081"))
        if not key or not key.isascii() or not key.isprintable():
            raise SourceRefused(
                gettext("the API key must not be empty and must only contain printable ASCII characters")
            )
        # A copied URL can have the path of the API at its end.
        base = parts.path.partition("/api/v1")[0].rstrip("/")
        base = f"{base}/api/v1/servers/{quote(server_id, safe='')}"
        port = port or (443 if parts.scheme == "https" else 80)
        return cls(parts.scheme, parts.hostname, port, base, key, timeout, addresses)

    def check(self) -> None:
        """Raise SourceRefused unless the server is PowerDNS and accepts the key, or SourceAway if the check fails."""
        try:
            server = self._object("")
        except _Missing:
            raise SourceRefused(
                gettext("{not_powerdns}, or the server ID doesn’t exist").format(not_powerdns=_NOT_POWERDNS)
            ) from None
        except _Failed as exc:
            raise SourceAway(str(exc)) from exc
        if server.get("daemon_type") != "authoritative":
            raise SourceRefused(gettext(_NOT_POWERDNS))

    def zone_list(self) -> Iterator[dict[str, Any]]:
        try:
            yield from self._array("/zones?dnssec=false")
        except (_Missing, _Failed) as exc:
            raise SourceAway(gettext("the zone list couldn’t be read: {exc}").format(exc=exc)) from exc

    def tsig_keys(self) -> Iterator[Kept]:
        """Yield the server's TSIG keys, except unreadable ones. Yield none if the server does not list them."""
        try:
            listed = sorted(str(entry.get("id", "")) for entry in self._array("/tsigkeys"))
        except (_Missing, _Failed):
            return
        for key_id in listed:
            try:
                key = self._object(f"/tsigkeys/{_quote_id(key_id)}")
            except (_Missing, _Failed):  # releases before 4.7.4 list deleted keys
                continue
            yield powerdns.kept_tsig(str(key.get("name")), str(key.get("algorithm")), str(key.get("key")))

    def items_of(self, zone: _Zone) -> list[Item]:
        """Return all items of one zone: notes, its document or a fault, and data to keep."""
        note = powerdns.secondary_note(zone.name, zone.kind)
        items: list[Item] = [note] if note is not None else []
        left: dict[tuple[str, str], str] = {}
        try:
            text = self._text(zone, left)
            items.append(text.document(zone.name) if text.records else powerdns.empty_zone(zone.name))
        except _Missing:
            items.append(
                _fault(
                    zone, gettext("the zone was deleted from the server after the zone list was read"), "unknown-zone"
                )
            )
        except _Failed as exc:
            items.append(_fault(zone, str(exc), "api-failed"))
        else:
            items += (powerdns.kept_metadata(zone.name, *pair) for pair in zone.fields)
            for messages, kept in ((_METADATA_LEFT, self._metadata), (_KEYS_LEFT, self._keys)):
                items += self._aside(zone, messages, kept)
            items += (powerdns.kept_comment(zone.name, *place, comment) for place, comment in sorted(left.items()))
        return items

    def _aside(self, zone: _Zone, messages: tuple[str, str], kept: Callable[[_Zone], Iterator[Kept]]) -> list[Item]:
        """Return the items that `kept` yields for the zone, or a warning if the server doesn't return this data."""
        try:
            return list(kept(zone))
        except (_Missing, _Failed) as exc:
            unreadable, hidden = messages
            reason = gettext(unreadable).format(exc=exc) if str(exc) else gettext(hidden)
            return [_fault(zone, reason, "not-kept", Severity.WARNING)]

    def _text(self, zone: _Zone, left: dict[tuple[str, str], str]) -> ZoneText:
        """Return the zone's records, up to the size limit. Add comments on RRsets without records to `left`."""
        text = ZoneText(zone.name)
        with self._members(f"/zones/{_quote_id(zone.id)}", ("rrsets",)) as found:
            for key, rrset in found:
                if key != "rrsets":
                    continue
                _add(text, rrset, zone.name, left)
                if text.is_too_large:
                    break
        return text

    def _metadata(self, zone: _Zone) -> Iterator[Kept]:
        for entry in self._array(f"/zones/{_quote_id(zone.id)}/metadata"):
            for value in entry.get("metadata") or ():
                yield powerdns.kept_metadata(zone.name, str(entry.get("kind")), str(value))

    def _keys(self, zone: _Zone) -> Iterator[Kept]:
        path = f"/zones/{_quote_id(zone.id)}/cryptokeys"
        for number in sorted(int(entry["id"]) for entry in self._array(path)):
            key = self._object(f"{path}/{number}")
            if key.get("privatekey"):
                yield powerdns.kept_key(
                    zone.name,
                    int(key.get("flags") or 0),
                    str(key["privatekey"]),
                    active=bool(key.get("active")),
                    published=bool(key.get("published", True)),
                )

    def _object(self, path: str) -> dict[str, Any]:
        with self._members(path) as found:
            return dict(found)

    def _array(self, path: str) -> Iterator[dict[str, Any]]:
        with self._members(path) as found:
            for _, entry in found:
                if not isinstance(entry, dict):
                    raise SourceRefused(gettext(_NOT_POWERDNS))
                yield entry

    @contextmanager
    def _members(self, path: str, split: tuple[str, ...] = ()) -> Iterator[Iterator[tuple[str, Any]]]:
        """Yield an iterator over a response's members. The values of members in `split` are yielded one by one.

        Raise _Failed if the response is truncated or is not JSON, and the errors of `_answer`.
        """
        connection = self._connection()
        try:
            response = self._answer(connection, path)
            try:
                yield members(response.read, split)
            except BadJson as exc:
                raise _Failed(
                    gettext("the PowerDNS server’s response couldn’t be read: {exc}").format(exc=exc)
                ) from exc
            except (OSError, http.client.HTTPException) as exc:
                raise _Failed(
                    gettext("the PowerDNS server’s answer ended too early: {exc}").format(exc=_describe(exc))
                ) from exc
        finally:
            connection.close()

    def _connection(self) -> http.client.HTTPConnection:
        """Create a connection object without connecting it."""
        kind = http.client.HTTPConnection if self.scheme == "http" else http.client.HTTPSConnection
        return kind(self.host, self.port, timeout=self.timeout)

    def _socket(self) -> socket.socket:
        """Connect to the first address that accepts. Raise OSError if none does. TLS and HTTP use the host's name."""
        connection = connect(self.addresses(self.host, self.port), self.port, self.timeout)
        if self.scheme == "https":
            connection = ssl.create_default_context().wrap_socket(connection, server_hostname=self.host)
        self.connections.add(connection)
        return connection

    def _answer(self, connection: http.client.HTTPConnection, path: str) -> http.client.HTTPResponse:
        """Send a GET request, and repeat it once if the connection breaks. Return the response if its status is 200.

        Raise the errors of `_check_answer`, SourceAway if the connection fails, or SourceRefused if TLS or HTTP does.
        """
        try:
            try:
                response = self._get(connection, path)
            except (ConnectionResetError, BrokenPipeError, http.client.RemoteDisconnected):
                connection.close()
                response = self._get(connection, path)
        except ssl.SSLCertVerificationError as exc:
            reason = gettext("{host}’s certificate isn’t trusted: {verify_message}").format(
                host=self.host, verify_message=exc.verify_message
            )
            raise SourceRefused(reason) from exc
        except ssl.SSLError as exc:
            raise SourceRefused(
                gettext("TLS connection to {host} failed: {reason}").format(host=self.host, reason=exc.reason)
            ) from exc
        except http.client.HTTPException as exc:
            raise SourceRefused(gettext(_NOT_POWERDNS)) from exc
        except OSError as exc:
            raise SourceAway(
                gettext("no connection to the PowerDNS server at {host}: {exc}").format(
                    host=self.host, exc=_describe(exc)
                )
            ) from exc
        _check_answer(response)
        return response

    def _get(self, connection: http.client.HTTPConnection, path: str) -> http.client.HTTPResponse:
        connection.sock = self._socket()
        headers = {"X-API-Key": self.key, "Accept": "application/json", "Connection": "close"}
        connection.request("GET", self.base + path, headers=headers)
        return connection.getresponse()


def _check_answer(response: http.client.HTTPResponse) -> None:
    """Raise _Missing, _Failed or SourceRefused unless the response is JSON with status 200.

    The error quotes at most 300 characters of the server's message.
    """
    status = response.status
    if status in (401, 403):
        raise SourceRefused(gettext(_REFUSES_KEY))
    if 300 <= status < 400:
        raise SourceRefused(gettext("the server redirects to another address: enter the new address"))
    if status == 404:
        raise _Missing
    is_json = "json" in (response.getheader("Content-Type") or "")
    if status == 200 and is_json:
        return
    if status == 200:
        raise SourceRefused(gettext(_NOT_POWERDNS))
    try:
        message = dict(members(response.read)).get("error") if is_json else None
    except (BadJson, OSError, http.client.HTTPException):
        message = None
    raise _Failed(
        gettext("the PowerDNS server answered with an error: {value}").format(
            value=str(message)[:300] if message else gettext("HTTP status {status}").format(status=status)
        )
    )


def _add(text: ZoneText, rrset: Any, zone: str, left: dict[tuple[str, str], str]) -> None:
    """Add an RRset's records and comments to the text. If the RRset has no records, add its comments to `left`."""
    if not isinstance(rrset, dict):
        raise BadJson(gettext("an RRset is not an object"))
    name, type = str(rrset.get("name", "")), str(rrset.get("type", "")).upper()
    several = sorted(rrset.get("comments") or (), key=lambda one: (one.get("modified_at") or 0, str(one)))
    comment = comment_text([str(one.get("content", "")) for one in several])
    ttl = rrset.get("ttl")
    for record in rrset.get("records") or ():
        text.add(
            powerdns.owner(name),
            powerdns.DEFAULT_TTL if ttl is None else str(ttl),
            type,
            powerdns.rdata(type, str(record.get("content", "")), zone),
            disabled=bool(record.get("disabled")),
            comment=comment,
        )
        comment = ""
    if comment:
        left[name, type] = comment


def _fault(zone: _Zone, reason: str, code: str, severity: Severity = Severity.ERROR) -> SourceFault:
    return SourceFault(zone.name, 0, 0, "", reason, code, severity=severity, zone=zone.name)


def _quote_id(part: str) -> str:
    """Quote a zone or key id for a URL path. PowerDNS has already encoded unusual bytes, for example as `=2F`."""
    return quote(part, safe="=")


def _describe(exc: BaseException) -> str:
    if isinstance(exc, TimeoutError):
        return gettext("the server didn’t respond in time")
    return str(getattr(exc, "strerror", None) or exc or type(exc).__name__)
