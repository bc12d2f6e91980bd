"""Connect to a primary over TLS (RFC 9103): version 1.3, protocol `dot`, and a verified identity."""

import socket
import ssl
from dataclasses import dataclass, field

from dnspanel.fleet.nodes.authority import file_in_memory
from dnspanel.pasted_certificates import fingerprint, fingerprints_of
from dnspanel.texts import gettext
from dnspanel.texts import gettext_lazy as _

ALPN = "dot"
HANDSHAKE_SECONDS = 10.0
# The panel's messages for common OpenSSL errors.
_REASONS = {
    "WRONG_VERSION_NUMBER": _("the server doesn’t use TLS on this port"),
    "UNSUPPORTED_PROTOCOL": _("the server doesn’t support TLS 1.3"),
    "TLSV1_ALERT_PROTOCOL_VERSION": _("the server doesn’t support TLS 1.3"),
    "TLSV1_ALERT_NO_APPLICATION_PROTOCOL": _("the server doesn’t support the protocol “dot” (ALPN)"),
    "TLSV13_ALERT_CERTIFICATE_REQUIRED": _("the server requires a client certificate"),
    "TLSV1_ALERT_UNKNOWN_CA": _("the server rejected the panel’s certificate"),
    "SSLV3_ALERT_BAD_CERTIFICATE": _("the server rejected the panel’s certificate"),
}


class TlsRefused(Exception):
    """Raised if TLS with a server fails. The error's message is a part of a sentence."""


@dataclass(frozen=True, slots=True)
class TlsPeer:
    """The identity that the server has to prove.

    If `name` is set, the certificate must be for that name and signed by one of `certificates`, or by an authority that
    the system trusts if `certificates` is empty. If `name` is empty, the certificate must be one of `certificates`.
    """

    name: str
    certificates: str = ""  # PEM
    own: bytes = field(default=b"", repr=False)  # the panel's certificate chain and key for mutual TLS, PEM


def over_tls(plain: socket.socket, peer: TlsPeer) -> ssl.SSLSocket:
    """Start TLS on a connection and verify the server's identity.

    If that fails, close the connection and raise TlsRefused, or OSError if the connection broke.
    """
    try:
        plain.settimeout(HANDSHAKE_SECONDS)
        connection = _context(peer).wrap_socket(plain, server_hostname=peer.name or None)
    except ssl.SSLError as exc:
        plain.close()
        raise TlsRefused(words(exc)) from exc
    except OSError:
        plain.close()
        raise
    if reason := _against(connection, peer):
        connection.close()
        raise TlsRefused(reason)
    return connection


def words(exc: ssl.SSLError) -> str:
    """Return OpenSSL's error as a part of a sentence for the user."""
    if isinstance(exc, ssl.SSLCertVerificationError):
        return gettext("the server’s certificate isn’t trusted: {reason}").format(reason=exc.verify_message.rstrip("."))
    if not exc.reason:
        return gettext("the TLS connection ended")
    return str(_REASONS.get(exc.reason, exc.reason.replace("_", " ").lower()))


def _context(peer: TlsPeer) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.set_alpn_protocols([ALPN])
    context.check_hostname = bool(peer.name)
    if peer.certificates:
        # The certificates can be the server's own certificate or an intermediate one.
        context.verify_flags |= ssl.VerifyFlags.VERIFY_X509_PARTIAL_CHAIN
        context.load_verify_locations(cadata=peer.certificates)
    else:
        context.load_default_certs()
    if peer.own:
        with file_in_memory(peer.own) as path:
            context.load_cert_chain(path)
    return context


def _against(connection: ssl.SSLSocket, peer: TlsPeer) -> str:
    """Check the server after the TLS handshake. Return why it is rejected, or "" if it is accepted."""
    if connection.selected_alpn_protocol() != ALPN:  # RFC 9103, section 7.1
        return gettext("the server doesn’t select the protocol “dot” (ALPN)")
    if not peer.name and fingerprint(connection.getpeercert(binary_form=True) or b"") not in fingerprints_of(
        peer.certificates
    ):
        return gettext("the server’s certificate isn’t the expected one")
    return ""
