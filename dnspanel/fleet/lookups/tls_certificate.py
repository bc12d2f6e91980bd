"""Fetch the certificate that a TLS server presents, from any issuer. Mail servers are queried with STARTTLS."""

import socket
import ssl
import time
from collections.abc import Sequence

from dnspanel import outbound
from dnspanel.texts import gettext

SECONDS = 5.0
MOST_ADDRESSES = 3  # of one host that are tried
# TLS ports below 1024. Other services there cannot be reached.
TLS_PORTS = (443, 465, 636, 853, 989, 990, 993, 995)
SMTP_PORTS = (25, 587)
_FIRST_FREE_PORT = 1024
_LONGEST_REPLY = 4096


class NoCertificate(Exception):
    """The server sent no certificate, or the panel isn't allowed to connect to it. The message is for the user."""


def certificate_of(host: str, port: int, *, networks: Sequence[str], resolve: outbound.Resolve | None = None) -> bytes:
    """Return a server's certificate (DER). Raise NoCertificate if the server sends no certificate within SECONDS.

    Also raise NoCertificate for a port or an address that the panel isn't allowed to use. The panel sends only the TLS
    handshake, after STARTTLS for mail. The error doesn't reveal whether the server refused or didn't answer.
    """
    if port not in (*TLS_PORTS, *SMTP_PORTS) and not _FIRST_FREE_PORT <= port <= 65535:
        raise NoCertificate(
            gettext(
                "Port {port} can’t be used for TLS. Use port 443, port 25 for mail, or port {first_free_port} or "
                "higher."
            ).format(port=port, first_free_port=_FIRST_FREE_PORT)
        )
    deadline = time.monotonic() + SECONDS
    try:
        name = outbound.canonical_host(host)
        addresses = outbound.allowed_addresses(name, port, networks, resolve=resolve)
    except outbound.NotReachable as exc:
        raise NoCertificate(
            gettext("{exc} The operator can allow networks with PANEL_SOURCE_NETWORKS.").format(exc=exc)
        ) from exc
    except outbound.OutboundError as exc:
        raise NoCertificate(str(exc)) from exc
    for address in addresses[:MOST_ADDRESSES]:
        try:
            return _taken_from(address, name, port, deadline)
        except (OSError, ValueError):
            continue
    raise NoCertificate(
        gettext("{name} didn’t send a certificate on port {port} within {seconds:.0f} seconds.").format(
            name=name, port=port, seconds=SECONDS
        )
    )


def _taken_from(address: str, name: str, port: int, deadline: float) -> bytes:
    """Return the certificate that the server at this address presents.

    Raise OSError if the connection fails, and ValueError if the server refuses STARTTLS or sends no certificate.
    """
    # From any issuer: the certificate is only copied into a record, and not trusted here.
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    with socket.create_connection((address, port), timeout=outbound.seconds_left(deadline)) as plain:
        if port in SMTP_PORTS:
            _start_tls(plain, deadline)
        plain.settimeout(outbound.seconds_left(deadline))
        with context.wrap_socket(plain, server_hostname=name) as secure:
            certificate = secure.getpeercert(binary_form=True)
    if not certificate:
        raise ValueError(gettext("no certificate"))
    return certificate


def _start_tls(plain: socket.socket, deadline: float) -> None:
    """Send STARTTLS to a mail server. Raise OSError if the connection fails, and ValueError if the server refuses."""
    for command, code in ((b"", b"220"), (b"EHLO dnspanel.invalid\r\n", b"250"), (b"STARTTLS\r\n", b"220")):
        plain.settimeout(outbound.seconds_left(deadline))
        plain.sendall(command)
        if not _reply(plain, deadline).startswith(code):
            raise ValueError("refused")


def _reply(plain: socket.socket, deadline: float) -> bytes:
    """Read an SMTP reply and return its last line. Raise ValueError if the reply is incomplete or too long."""
    received = b""
    while len(received) < _LONGEST_REPLY:
        lines = received.split(b"\r\n")
        if len(lines) > 1 and lines[-1] == b"" and lines[-2][3:4] != b"-":
            return lines[-2]
        plain.settimeout(outbound.seconds_left(deadline))
        chunk = plain.recv(1024)
        if not chunk:
            break
        received += chunk
    raise ValueError(gettext("no reply"))
