"""Send audit log entries to a destination over a checked address, and wait for its confirmation.

Syslog has no acknowledgement. The closest is the end of the connection (RFC 5425, section 4.4): the panel announces the
end, and a receiver that has read everything closes the connection. A receiver that crashes, refuses the panel, or exits
with unread bytes resets the connection or stays silent. The entries are then sent again. OpenTelemetry answers each
request.
"""

import array
import errno
import fcntl
import json
import os
import socket
import ssl
import termios
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime

from django.conf import settings

from dnspanel import outbound
from dnspanel.audit.forward.act_records import Sender, batch, frame_message, log_record, logs_request, syslog_message
from dnspanel.audit.forward.destination_address import SyslogAddress, parse_syslog_address
from dnspanel.audit.forward.destination_tls import client_context
from dnspanel.audit.forward.errors import NotSent
from dnspanel.audit.forward.models import Kind
from dnspanel.texts import gettext, joined
from dnspanel.webhooks.errors import AddressRefused, NoAnswer
from dnspanel.webhooks.post import Answer, post
from dnspanel.zones.audit.audit_trail import Act

NETWORKS = "EVIDENCE_NETWORKS"
MOST_BYTES = 512 * 1024
CONNECT_SECONDS = 5.0
# The time limit from the first byte to the confirmation of the last one.
SECONDS = 20.0
_MOST_ADDRESSES = 3
_PIECE = 16 * 1024
_LONGEST_REASON = 300
_CLOSED = frozenset({errno.ECONNRESET, errno.EPIPE, errno.ENOTCONN})
_LOOK_AGAIN = 0.005  # seconds, less than a packet takes


@dataclass(frozen=True, slots=True)
class Target:
    """The address, certificates and secrets of a destination. The secrets are decrypted only for the connection."""

    kind: str
    address: str
    ca: str = ""
    certificate: str = ""
    key: bytes = field(default=b"", repr=False)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)


@dataclass(frozen=True, slots=True)
class Sent:
    """The result of a batch. `count` is the number of confirmed entries, counted from the first entry.

    `rejected` is the destination's message about entries that it did not store.
    """

    count: int
    rejected: str = ""


def send(target: Target, acts: Sequence[Act], *, sender: Sender, now: datetime) -> Sent:
    """Send as many entries as fit into MOST_BYTES. Raise NotSent without a confirmation or usable certificates."""
    try:
        context = client_context(ca=target.ca, chain=target.certificate, key=target.key)
    except (ssl.SSLError, ValueError) as exc:
        raise NotSent(gettext("This destination’s certificates can no longer be used for TLS.")) from exc
    if target.kind == Kind.SYSLOG:
        return _send_syslog(target, acts, sender, context)
    return _send_otlp(target, acts, sender, context, now)


def _send_syslog(target: Target, acts: Sequence[Act], sender: Sender, context: ssl.SSLContext) -> Sent:
    messages = [frame_message(syslog_message(act, sender)) for act in acts]
    count = batch(map(len, messages), MOST_BYTES)
    address = parse_syslog_address(target.address)
    stream = _connect_tls(address, context)
    deadline = time.monotonic() + SECONDS
    try:
        _write(stream, b"".join(messages[:count]), deadline)
        _end(stream, deadline)
    except OSError as exc:
        raise NotSent(
            gettext("{address} didn’t confirm the log entries: {exc}").format(address=address, exc=_describe(exc))
        ) from exc
    finally:
        stream.close()
    return Sent(count)


def addresses_of(address: SyslogAddress) -> Sequence[str]:
    """Return the host's addresses. Raise NotSent if there are none, or if one of them isn't allowed."""
    try:
        return outbound.allowed_addresses(address.host, address.port, getattr(settings, NETWORKS))
    except outbound.NotReachable as exc:
        raise NotSent(
            gettext("{exc} The operator can allow networks in PANEL_{networks}.").format(exc=exc, networks=NETWORKS)
        ) from exc
    except outbound.OutboundError as exc:
        raise NotSent(str(exc)) from exc


def _connect_tls(address: SyslogAddress, context: ssl.SSLContext) -> ssl.SSLSocket:
    """Connect over TLS to the first address, of at most three, that accepts this. Raise NotSent if none does."""
    failure: OSError | None = None
    for each in addresses_of(address)[:_MOST_ADDRESSES]:
        try:
            plain = socket.create_connection((each, address.port), timeout=CONNECT_SECONDS)
        except OSError as exc:
            failure = exc
            continue
        try:
            return context.wrap_socket(plain, server_hostname=address.host)
        except OSError as exc:
            plain.close()
            failure = exc
    raise NotSent(
        gettext("Connection to {address} failed: {failure}").format(address=address, failure=_describe(failure))
    ) from failure


def _write(stream: ssl.SSLSocket, content: bytes, deadline: float) -> None:
    for start in range(0, len(content), _PIECE):
        stream.settimeout(outbound.seconds_left(deadline))
        stream.sendall(content[start : start + _PIECE])


def _end(stream: ssl.SSLSocket, deadline: float) -> None:
    """Wait until the receiver has read every byte and closed the connection. Raise OSError if it does not.

    1. Send the end of TLS, and wait for the receiver's end of TLS. An alert instead is an error. Some receivers only
       close the connection.
    2. Send the end of the connection, and wait for the receiver's end. A receiver with unread bytes resets the
       connection instead.
    3. Wait until the receiver's kernel has acknowledged all bytes. Some receivers close the connection before all bytes
       have arrived, for example rsyslog with a client without a certificate. Their kernel then resets the connection
       when the bytes arrive.
    """
    stream.settimeout(outbound.seconds_left(deadline))
    with suppress(ssl.SSLEOFError):
        stream.unwrap()
    stream.shutdown(socket.SHUT_WR)
    while True:
        stream.settimeout(outbound.seconds_left(deadline))
        if not stream.recv(_PIECE):
            break
    while _count_unacknowledged(stream):
        outbound.seconds_left(deadline)
        time.sleep(_LOOK_AGAIN)
    _raise_error_of(stream)  # a reset can have arrived in the meantime


def _count_unacknowledged(stream: socket.socket) -> int:
    """Return the number of bytes that the receiver's kernel hasn't acknowledged. Raise OSError after a failure."""
    _raise_error_of(stream)
    count = array.array("i", [0])
    fcntl.ioctl(stream.fileno(), termios.TIOCOUTQ, count)
    return count[0]


def _raise_error_of(stream: socket.socket) -> None:
    if code := stream.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR):
        raise OSError(code, os.strerror(code))


def _send_otlp(target: Target, acts: Sequence[Act], sender: Sender, context: ssl.SSLContext, now: datetime) -> Sent:
    records = [log_record(act, now) for act in acts]
    count = batch((len(json.dumps(record)) for record in records), MOST_BYTES)
    body = logs_request(records[:count], sender)
    headers = {**target.headers, "Content-Type": "application/json"}
    try:
        answer = post(target.address, headers, body, seconds=SECONDS, networks=NETWORKS, tls=context)
    except (AddressRefused, NoAnswer) as exc:
        raise NotSent(str(exc)) from exc
    if not 200 <= answer.status < 300:
        raise NotSent(_fault_of(answer), retry_after=answer.retry_after or 0)
    return Sent(count, _message_of_rejected(answer))


def _fault_of(answer: Answer) -> str:
    if 300 <= answer.status < 400:
        return gettext(
            "The receiver returned HTTP status {status}, but redirects aren’t followed. Enter the redirect’s "
            "target URL."
        ).format(status=answer.status)
    reason = " ".join(answer.text.split())[:_LONGEST_REASON]
    if reason and reason.isprintable():
        return gettext("The receiver returned HTTP status {status}: {reason}").format(
            status=answer.status, reason=reason
        )
    return gettext("The receiver returned HTTP status {status}.").format(status=answer.status)


def _message_of_rejected(answer: Answer) -> str:
    """Return a message about rejected records in an ExportLogsServiceResponse, or "" if there are none."""
    try:
        partial = json.loads(answer.body or b"{}").get("partialSuccess") or {}
        count, reason = int(partial.get("rejectedLogRecords") or 0), str(partial.get("errorMessage") or "")
    except (ValueError, TypeError, AttributeError, RecursionError):
        return ""  # some collectors answer with plain text or protobuf
    reason = "".join(character for character in reason if character.isprintable())[:_LONGEST_REASON]
    if count > 0:
        return gettext("The receiver rejected log entries ({count:,}). Reason: {reason}").format(
            count=count, reason=reason or gettext("no reason given.")
        )
    return ""


def _describe(exc: OSError | None) -> str:
    if isinstance(exc, ssl.SSLCertVerificationError):
        return f"{exc.verify_message}.".replace("..", ".")
    if isinstance(exc, ssl.SSLError):
        return joined(
            "", ("TLS: ", (exc.reason or "").replace("_", " ").lower() or gettext("the connection ended"), ".")
        )
    if isinstance(exc, TimeoutError):
        return gettext("no response in time.")
    if exc is not None and exc.errno in _CLOSED:
        return gettext("the receiver closed the connection. A client certificate may be required.")
    return joined("", ((exc and exc.strerror) or gettext("the connection ended"), "."))
