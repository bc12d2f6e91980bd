"""Exchange signed messages with one address over one TLS connection (RFC 7858), and authenticate the answers."""

import socket
import ssl
import time
from collections.abc import Sequence

import dns.message
import dns.tsig
from django.conf import settings

from dnspanel import outbound
from dnspanel.pasted_certificates import fingerprint
from dnspanel.secondaries.udp_exchange import LARGEST, Answer, answer_of_silence, not_allowed, read_answer, with_own_ids
from dnspanel.texts import gettext

# The number of questions in progress at once; a server answers them in any order.
_WINDOW = 64
_LENGTH_BYTES = 2


def exchange_over_tls(
    messages: Sequence[dns.message.Message],
    *,
    address: tuple[str, int],
    key: dns.tsig.Key,
    seconds: float,
    certificates: frozenset[str] = frozenset(),
) -> list[Answer]:
    """Send the messages over TLS and return their answers. If the address isn't allowed, all answers are errors.

    Up to _WINDOW messages are sent together, and must be answered within `seconds`. If one of them isn't, later
    messages get the same error without being sent. If `certificates` (fingerprints) are given, the server must present
    one of them. Otherwise only the signatures on its answers prove its identity, and TLS protects the queries from
    eavesdroppers.

    If the server closes the connection, send the unanswered messages once more, because NSD closes its connections
    whenever it has loaded a zone.
    """
    if not outbound.is_allowed(address[0], settings.SECONDARY_NETWORKS):
        return [not_allowed()] * len(messages)
    answers = _on_one_connection(messages, address, key, seconds, certificates)
    owed = [number for number, answer in enumerate(answers) if answer == _answer_of_closed()]
    again = _on_one_connection([messages[number] for number in owed], address, key, seconds, certificates)
    for number, answer in zip(owed, again, strict=True):
        answers[number] = answer
    return answers


def _answer_of_closed() -> Answer:
    """Return the error answer for a server that closed the connection before it answered."""
    return Answer(gettext("The server closed the connection without responding."))


def _on_one_connection(
    messages: Sequence[dns.message.Message],
    address: tuple[str, int],
    key: dns.tsig.Key,
    seconds: float,
    certificates: frozenset[str],
) -> list[Answer]:
    """Send the messages over a single TLS connection, and return their answers as in `exchange_over_tls`."""
    if not messages:
        return []
    host, port = address
    answers: list[Answer] = []
    try:
        with _connect_tls(host, port, seconds) as stream:
            if certificates and fingerprint(stream.getpeercert(binary_form=True) or b"") not in certificates:
                return [
                    Answer(gettext("The server’s TLS certificate doesn’t match the configured certificate."))
                ] * len(messages)
            for start in range(0, len(messages), _WINDOW):
                found = _window(stream, messages[start : start + _WINDOW], key, seconds)
                answers += found
                if lacking := [answer for answer in found if answer in (answer_of_silence(), _answer_of_closed())]:
                    # Late answers would be mistaken for answers to other messages.
                    return answers + lacking[:1] * (len(messages) - len(answers))
    except ssl.SSLError as exc:
        answers.append(Answer(gettext("TLS 1.3 handshake failed: {reason}.").format(reason=_reason_of(exc))))
    except TimeoutError:
        answers.append(Answer(gettext("TLS connection failed: no response.")))
    except OSError as exc:
        answers.append(Answer(gettext("TLS connection failed: {reason}.").format(reason=exc.strerror)))
    return answers + [answers[-1]] * (len(messages) - len(answers))


def _reason_of(exc: ssl.SSLError) -> str:
    return (exc.reason or "").replace("_", " ").lower() or gettext("the connection ended")


def _connect_tls(host: str, port: int, seconds: float) -> ssl.SSLSocket:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE  # the caller compares the certificate's fingerprint
    context.set_alpn_protocols(["dot"])
    plain = socket.create_connection((host, port), timeout=seconds)
    try:
        return context.wrap_socket(plain)
    except OSError:
        plain.close()
        raise


def _window(
    stream: ssl.SSLSocket, messages: Sequence[dns.message.Message], key: dns.tsig.Key, seconds: float
) -> list[Answer]:
    """Send one window of messages and return their answers. A message without an answer in time gets an error."""
    deadline = time.monotonic() + seconds
    waiting = with_own_ids(messages)
    found = [answer_of_silence()] * len(messages)
    stream.settimeout(seconds)
    try:
        for message in messages:
            message.use_tsig(key, algorithm=key.algorithm)
            wire = message.to_wire()
            # One TLS record per message: of several in a record, NSD 4.6 answers only the first until more data
            # arrives.
            stream.sendall(len(wire).to_bytes(_LENGTH_BYTES, "big") + wire)
        while waiting:
            wire = _next_message(stream, deadline)
            number = waiting.get(int.from_bytes(wire[:2], "big"), -1)
            if number >= 0 and (answer := read_answer(wire, messages[number], key)) is not None:
                found[number] = answer
                del waiting[messages[number].id]
    except TimeoutError:
        pass
    except (ConnectionError, ssl.SSLEOFError):
        for number in waiting.values():
            found[number] = _answer_of_closed()
    return found


def _next_message(stream: ssl.SSLSocket, deadline: float) -> bytes:
    length = int.from_bytes(_read(stream, _LENGTH_BYTES, deadline), "big")
    if length > LARGEST:
        raise TimeoutError
    return _read(stream, length, deadline)


def _read(stream: ssl.SSLSocket, length: int, deadline: float) -> bytes:
    """Read exactly `length` bytes. Raise TimeoutError after the deadline, ConnectionError if the connection closes."""
    found = b""
    while len(found) < length:
        left = deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        stream.settimeout(left)
        piece = stream.recv(length - len(found))
        if not piece:
            raise ConnectionError
        found += piece
    return found
