"""TLS for the gateway (RFC 9103): the context, accepted client certificates, and reasons for refused handshakes."""

import logging
import ssl
from dataclasses import dataclass
from datetime import datetime
from threading import Lock

from dnspanel.fleet.nodes.authority import file_in_memory
from dnspanel.gateway.errors import TlsRefused
from dnspanel.pasted_certificates import fingerprint
from dnspanel.secondaries import record
from dnspanel.secondaries.access import certificates_in_use, secondaries_at
from dnspanel.secondaries.server_certificate import ServerIdentity, server_identity
from dnspanel.texts import gettext, gettext_noop

logger = logging.getLogger(__name__)

ALPN = "dot"  # RFC 7858's, which RFC 9103 uses for transfers
# OpenSSL's names of common errors, and our messages for them.
_REASONS = {
    "UNSUPPORTED_PROTOCOL": gettext_noop("the client doesn’t support TLS 1.3"),
    "CERTIFICATE_VERIFY_FAILED": gettext_noop("the certificate has expired or doesn’t belong to a secondary"),
    "NO_SHARED_CIPHER": gettext_noop("no common cipher"),
    "HTTP_REQUEST": gettext_noop("the client didn’t use TLS"),
    "WRONG_VERSION_NUMBER": gettext_noop("the client didn’t use TLS"),
}
_GIVEN_UP = ("TLSV1_ALERT", "SSLV3_ALERT", "TLSV13_ALERT", "UNEXPECTED_EOF")


@dataclass(frozen=True, slots=True)
class OverTls:
    """An accepted TLS client: `certificate` is the fingerprint of its certificate, or "" if it has none."""

    certificate: str


class Contexts:
    """The TLS context for new connections. It is replaced when a certificate of the panel or a secondary changes."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._made_of: tuple[ServerIdentity, tuple[str, ...]] | None = None
        self._context: ssl.SSLContext | None = None

    def current(self, now: datetime) -> ssl.SSLContext:
        """Return the current context after reading the database. Raise CertificateRefused, OSError or DatabaseError."""
        made_of = server_identity(now=now), certificates_in_use()
        with self._lock:
            if self._context is None or self._made_of != made_of:
                self._context = context_of(*made_of)
                self._made_of = made_of
            return self._context


def context_of(identity: ServerIdentity, certificates: tuple[str, ...]) -> ssl.SSLContext:
    """Return a TLS 1.3 context with this identity. Clients can only present one of these certificates, or none."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.set_alpn_protocols([ALPN])
    # A resumed session wouldn't present the certificate again. Connections are few, and they last.
    context.num_tickets = 0
    with file_in_memory(identity.chain.encode() + b"\n" + identity.key) as path:
        context.load_cert_chain(path)
    if certificates:
        context.verify_mode = ssl.CERT_OPTIONAL
        # Each certificate is trusted by itself, not as an issuer of others: `access.require_transport` compares it.
        context.verify_flags |= ssl.VerifyFlags.VERIFY_X509_PARTIAL_CHAIN
        context.load_verify_locations(cadata="".join(certificates))
    return context


def let_in(connection: ssl.SSLObject | ssl.SSLSocket) -> OverTls:
    """Return a client's OverTls after the handshake. Raise TlsRefused if the client doesn't offer DNS over TLS."""
    if connection.selected_alpn_protocol() != ALPN:
        raise TlsRefused(gettext("the client didn’t offer the ALPN protocol “{alpn}”").format(alpn=ALPN))
    peer = connection.getpeercert(binary_form=True)
    return OverTls(fingerprint(peer) if peer else "")


def note_refused_handshake(refusal: TlsRefused, address: str, now: datetime) -> None:
    """Log the refused client and the reason. Record it for each secondary that transfers from this address."""
    logger.info("refused tls from=%s: %s", address, refusal)
    for pk in secondaries_at(address):
        record.note_refusal(
            secondary_id=pk,
            reason=gettext("TLS connection failed: {refusal}.").format(refusal=refusal),
            address=address,
            now=now,
        )


def refusal_of(exc: ssl.SSLError) -> TlsRefused | None:
    """Return the reason why a handshake was refused, or None if the client gave up."""
    reason = exc.reason or ""
    if not reason or reason.startswith(_GIVEN_UP):
        return None
    return TlsRefused(gettext(_REASONS[reason]) if reason in _REASONS else reason.replace("_", " ").lower())
