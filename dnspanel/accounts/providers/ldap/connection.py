"""Open TLS connections to LDAP servers with a time limit, only to addresses that `dnspanel.outbound` allows.

The panel connects the socket itself and passes it to libldap, because only the panel can check the address. But on such
a socket, libldap ignores TLS for ldaps:// and would send the first password in clear text. Python therefore handles TLS
for both schemes: libldap uses one end of a socket pair, and a thread copies bytes between the other end and the server.
"""

import select
import socket
import ssl
import time
from dataclasses import dataclass
from functools import lru_cache
from threading import Thread, Timer
from typing import Any
from urllib.parse import urlsplit

import certifi
import ldap
from django.conf import settings

from dnspanel import outbound
from dnspanel.accounts.providers.provider_http import ProviderAway
from dnspanel.texts import gettext

CONNECT_SECONDS = 5.0
ANSWER_SECONDS = 5.0  # per request
MOST_BYTES = 32 << 20  # from the server in one connection
_MOST_ADDRESSES = 3  # per host name, tried in order
_PORTS = {"ldaps": 636, "ldap": 389}
# LDAP message 1: an extended request for StartTLS (RFC 4511, sections 4.12 and 4.14.1).
_START_TLS = b"\x30\x1d\x02\x01\x01\x77\x18\x80\x161.3.6.1.4.1.1466.20037"
_LONGEST_ANSWER = 4096  # to StartTLS


@dataclass(frozen=True, slots=True)
class Place:
    """The host and port of an LDAP server. `at_once` is True for immediate TLS (ldaps), False for StartTLS."""

    host: str
    port: int
    at_once: bool


def place_of(uri: str) -> Place:
    """Parse an LDAP URI: scheme, host and an optional port. Raise ValueError with a message for the user."""
    fault = ValueError(
        gettext(
            "Enter ldaps://host, or ldap://host for StartTLS. Add the port if the server doesn’t use the default port."
        )
    )
    try:
        parts = urlsplit(uri)
        port = parts.port or _PORTS.get(parts.scheme, 0)
    except ValueError as exc:
        raise fault from exc
    if parts.scheme not in _PORTS or not parts.hostname or not uri.isprintable() or "@" in uri:
        raise fault
    if parts.path.strip("/") or "?" in uri or "#" in uri:
        raise fault
    try:
        return Place(outbound.canonical_host(parts.hostname), port, parts.scheme == "ldaps")
    except outbound.BadHost as exc:
        raise ValueError(str(exc)) from exc


def open_connection(uri: str, certificates: str, *, seconds: float) -> Any:
    """Open a TLS connection to an LDAP server and return an unbound python-ldap object.

    The connection closes after `seconds`. `certificates` are those of a private CA, in PEM, or empty for public CAs.
    The caller must call `unbind`. Raise ProviderAway if the server can't be used.
    """
    place = place_of(uri)
    try:
        tls = _in_tls(place, _context(certificates))
    except ProviderAway:  # also an OSError
        raise
    except ssl.SSLCertVerificationError as exc:
        raise ProviderAway(
            gettext("{host}’s certificate isn’t valid: {verify_message}.").format(
                host=place.host, verify_message=exc.verify_message
            )
        ) from exc
    except (OSError, ValueError) as exc:
        raise ProviderAway(gettext("{host} didn’t respond or doesn’t support TLS.").format(host=place.host)) from exc
    near, far = socket.socketpair()
    Thread(target=_carry, args=(far, tls, time.monotonic() + seconds), daemon=True).start()
    connection = ldap.initialize(f"ldap://{place.host}", fileno=near.detach())
    connection.set_option(ldap.OPT_PROTOCOL_VERSION, ldap.VERSION3)
    connection.set_option(ldap.OPT_REFERRALS, 0)  # otherwise, a referral could send passwords elsewhere
    connection.set_option(ldap.OPT_DEREF, ldap.DEREF_NEVER)
    connection.timeout = ANSWER_SECONDS
    return connection


@lru_cache(maxsize=32)
def _context(certificates: str) -> ssl.SSLContext:
    """Return a TLS context that trusts these PEM certificates, or public CAs if `certificates` is empty."""
    if certificates:
        return ssl.create_default_context(cadata=certificates)
    return ssl.create_default_context(cafile=certifi.where())


def _in_tls(place: Place, context: ssl.SSLContext) -> ssl.SSLSocket:
    """Connect, start TLS, and return the socket. StartTLS and the handshake together can take at most ANSWER_SECONDS.

    Raise ProviderAway if the address isn't allowed or StartTLS fails, and OSError if the connection fails.
    """
    plain = _connected_socket(place)
    watched = plain.dup()
    alarm = Timer(ANSWER_SECONDS, _shut, [watched])
    alarm.start()
    try:
        if not place.at_once:
            _start_tls(plain)
        return context.wrap_socket(plain, server_hostname=place.host)
    except BaseException:
        plain.close()
        raise
    finally:
        alarm.cancel()
        watched.close()


def _shut(watched: socket.socket) -> None:
    """Shut down a socket to unblock its reader."""
    try:
        watched.shutdown(socket.SHUT_RDWR)
    except OSError:
        return


def _connected_socket(place: Place) -> socket.socket:
    """Connect to one of the host's addresses. Raise ProviderAway if none is allowed, and OSError if none responds."""
    try:
        addresses = outbound.allowed_addresses(place.host, place.port, settings.OIDC_NETWORKS)
    except outbound.NotReachable as exc:
        raise ProviderAway(
            gettext("{exc} The operator can allow networks with PANEL_OIDC_NETWORKS.").format(exc=exc)
        ) from exc
    except outbound.OutboundError as exc:
        raise ProviderAway(str(exc)) from exc
    refusal: OSError = OSError("no address")
    for address in addresses[:_MOST_ADDRESSES]:
        try:
            return socket.create_connection((address, place.port), CONNECT_SECONDS)
        except OSError as exc:
            refusal = exc
    raise refusal


def _start_tls(plain: socket.socket) -> None:
    """Send StartTLS and wait for the response. Raise ProviderAway if the server refuses, or OSError on failure."""
    plain.sendall(_START_TLS)
    head = _read(plain, 2)
    length = head[1]
    if length & 0x80:
        length = int.from_bytes(_read(plain, length & 0x7F))
    if head[0] != 0x30 or length > _LONGEST_ANSWER:
        raise ProviderAway(gettext("This server isn’t an LDAP server."))
    answer = _read(plain, length)
    # The message number, then the tag of an extended response, one to five length bytes, and the result (0: success).
    begins = answer[:4] == b"\x02\x01\x01\x78"
    skipped = 5 + (answer[4] & 0x7F if len(answer) > 4 and answer[4] & 0x80 else 0)
    if not begins or answer[skipped : skipped + 3] != b"\x0a\x01\x00":
        raise ProviderAway(gettext("The server doesn’t support StartTLS."))


def _read(plain: socket.socket, count: int) -> bytes:
    """Read exactly `count` bytes, because later bytes belong to TLS. Raise OSError if the server closes early."""
    found = b""
    while len(found) < count:
        chunk = plain.recv(count - len(found))
        if not chunk:
            raise OSError(gettext("the server closed the connection"))
        found += chunk
    return found


def _carry(near: socket.socket, tls: ssl.SSLSocket, until: float) -> None:
    """Copy bytes between libldap and the server until either side closes, or the time or byte limit is reached."""
    received = 0
    with near, tls:
        try:
            while (left := until - time.monotonic()) > 0 and received <= MOST_BYTES:
                ready = [tls] if tls.pending() else select.select([near, tls], [], [], left)[0]
                for source, sink in ((near, tls), (tls, near)):
                    if source in ready:
                        chunk = source.recv(1 << 16)
                        if not chunk:
                            return
                        received += len(chunk) if source is tls else 0
                        sink.sendall(chunk)
        except OSError:
            return
