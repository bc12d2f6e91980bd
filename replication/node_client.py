"""A client for one node's agent, over a persistent connection."""

import hashlib
import http.client
import socket
import ssl
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from itertools import chain
from types import TracebackType
from typing import Any, BinaryIO, Self
from urllib.parse import urlencode

from replication.codec.keys import zone_prefix
from replication.codec.sealed import SealingKey
from replication.errors import BadBytes, NodeUnreachable, Refused, WrongClock
from replication.message_texts import gettext
from replication.store.snapshot import snapshot_id
from replication.wire.front_messages import FrontSettings
from replication.wire.protocol import (
    ACK_PATH,
    CERTIFICATE_PATH,
    CHECK_PATH,
    COMPUTED_TYPES_PATH,
    FRONT_PATH,
    KEYS_PATH,
    LOG_PATH,
    QUERY_REPORT_PATH,
    REPAIRS_PATH,
    RESPOND_ASYNC,
    RESTART_PATH,
    SAMPLES_PATH,
    SEALING_KEYS_PATH,
    SEGMENTS_PATH,
    SNAPSHOTS_PATH,
    STATUS_PATH,
    TOP_PATH,
    TOP_ZONES_PATH,
    UNPROVEN,
    UPGRADE_PATH,
    ZONES_PATH,
    Ack,
    ComputedTypes,
    QueryReport,
    Sample,
    ServedZone,
    Status,
    Top,
    decode_clock,
    decode_message,
    decode_refusal,
    encode_message,
    encode_unproven,
)
from replication.wire.wire_sealing_keys import encode_sealing_keys

CONNECT_SECONDS = 5.0
ANSWER_SECONDS = 15.0
# Even an agent on a slow disk applies this many bytes of a large body per second. The timeout depends on it.
SLOWEST_BYTES_PER_SECOND = 100_000
# The longest time of an installation, plus one second for each of this many bytes of LMDB.
INSTALL_SECONDS = 30.0
SLOWEST_INSTALLED_PER_SECOND = 2_000_000
# A header line of a push: the ack can leave out new zones.
MAY_DEFER = f"Prefer: {RESPOND_ASYNC}\r\n"
# A node that restarts with new files answers again within this time, unless something is wrong with it.
RESTART_SECONDS = 30.0
# OpenSSL's numbers for errors in X.509 certificates.
_NOT_YET_VALID, _EXPIRED = 9, 10
# The HTTP status of an agent's response if the panel's certificate isn't valid by the agent's clock.
_WRONG_CLOCK = 403


@dataclass(frozen=True, slots=True)
class RepairAnswer:
    """A node's answer to a repair: its ack, and the first differences that it found."""

    ack: Ack
    differences: tuple[str, ...]
    rows: int


class NodeClient:
    """A persistent connection to an agent. Not thread-safe.

    If `certificate_sha256` is given (one hex hash of the DER form, or a set of them), requests are only sent to an
    agent that presents such a certificate. Otherwise nodes with the same host name could be mistaken for one another.
    `bytes_sent` counts all bytes of requests, including HTTP headers, without TLS's overhead.
    """

    def __init__(
        self,
        host: str,
        port: int,
        ssl_context: ssl.SSLContext,
        *,
        certificate_sha256: str | frozenset[str] | None = None,
        answer_seconds: float = ANSWER_SECONDS,
    ) -> None:
        self.host, self.port, self.certificate_sha256 = host, port, certificate_sha256
        self.peer_sha256 = ""  # the certificate of the last connection
        self.peer = ""  # the address of the last connection
        self.bytes_sent = 0
        self._answer_seconds = answer_seconds
        self.ssl_context = ssl_context
        self.connection: ssl.SSLSocket | None = None

    def status(self) -> Status:
        """Return the node's status. Raise NodeUnreachable if the agent doesn't answer."""
        return Status.from_json(self._get(STATUS_PATH))

    def status_and_samples(self, after: int) -> tuple[Status, list[Sample]]:
        """Return the status and the samples (`samples`) with one request, or with two for an old agent."""
        message = self._get(f"{STATUS_PATH}?samples_after={after}")
        status, samples = Status.from_json(message), message.get("samples")
        if samples is None:
            return status, self.samples(after)
        return status, [Sample.from_json(sample) for sample in samples]

    def samples(self, after: int) -> list[Sample]:
        """Return the samples after this Unix time, oldest first. Raise NodeUnreachable if the agent doesn't answer."""
        return [Sample.from_json(sample) for sample in self._get(f"{SAMPLES_PATH}?after={after}")]

    def certificate_request(self) -> str:
        """Make the agent create a new key, and return its certificate signing request (PEM).

        Raise NodeUnreachable if the agent doesn't answer, or the agent's rejection.
        """
        return str(self._request("POST", CERTIFICATE_PATH, b"", 0, self._answer_seconds)["csr"])

    def install_certificate(self, certificate_pem: str, ca_pem: str) -> None:
        """Send a certificate that the agent presents on new connections, then close this connection."""
        body = encode_message({"certificate": certificate_pem, "ca": ca_pem})
        self._request("PUT", CERTIFICATE_PATH, body, len(body), self._answer_seconds)
        self.close()

    def send_keys(self, sealed: bytes) -> None:
        """Send a sealed keyring. From then on, the agent only accepts segments signed with a key in this keyring."""
        self._request("PUT", KEYS_PATH, sealed, len(sealed), self._answer_seconds)

    def put_sealing_keys(self, keys: Iterable[SealingKey]) -> None:
        """Send the only sealing keys that the agent uses from then on. Raise Refused if the agent is too old."""
        body = encode_sealing_keys(keys)
        self._request("PUT", SEALING_KEYS_PATH, body, len(body), self._answer_seconds)

    def offer_snapshot(self, sealed: bytes) -> list[int]:
        """Offer a snapshot to the agent by sending its sealed manifest. Return the numbers of the missing chunks.

        The agent keeps this snapshot's chunks, even across restarts, and deletes other snapshots. Raise Refused for
        BadSignature and other rejections, DiskFull if the snapshot doesn't fit, or NodeUnreachable.
        """
        target = f"{SNAPSHOTS_PATH}/{snapshot_id(sealed)}"
        answer = self._request("PUT", target, sealed, len(sealed), self.seconds_for(len(sealed)))
        return [int(number) for number in answer["missing"]]

    def send_chunk(self, snapshot: str, number: int, stored: bytes) -> None:
        """Send one stored chunk to the agent. Idempotent. Raise Refused if the chunk was altered."""
        target = f"{SNAPSHOTS_PATH}/{snapshot}/chunks/{number}"
        self._request("PUT", target, stored, len(stored), self.seconds_for(len(stored)))

    def install_snapshot(self, snapshot: str, raw_size: int, *, unproven: Collection[str] = ()) -> Ack:
        """Install the snapshot, and return once PowerDNS serves it.

        `raw_size` determines how long to wait. `unproven` is described in `push`. Raise Busy if another push is
        running, or if the agent has put new files in place and restarts. After Busy, try again: call `offer_snapshot`,
        send the chunks that it returns, and repeat this call.
        """
        seconds = self._answer_seconds + INSTALL_SECONDS + raw_size / SLOWEST_INSTALLED_PER_SECOND
        target = f"{SNAPSHOTS_PATH}/{snapshot}/install"
        return Ack.from_json(self._request("POST", target, b"", 0, seconds, _unproven_header(unproven)))

    def restart(self) -> None:
        """Stop the node's PowerDNS. Its supervisor starts it again. Raise NotServed if PowerDNS isn't running."""
        self._request("POST", RESTART_PATH, b"", 0, self._answer_seconds)

    def choose_computed_types(self, chosen: ComputedTypes) -> None:
        """Make the node's PowerDNS serve these computed types. Idempotent.

        If PowerDNS served other types before, it restarts. Raise Refused if the agent does not write pdns.conf, and
        NotServed if PowerDNS does not report the types in time.
        """
        body = encode_message(chosen.to_json())
        self._request("PUT", COMPUTED_TYPES_PATH, body, len(body), self._answer_seconds + RESTART_SECONDS)

    def set_up_front(self, settings: FrontSettings) -> None:
        """Make the front use these settings. Idempotent.

        Raise Refused if the installed dnsdist can't start with them, or if the agent isn't a front's agent.
        """
        body = encode_message(settings.to_json())
        self._request("PUT", FRONT_PATH, body, len(body), self._answer_seconds)

    def upgrade(self, signed: bytes) -> None:
        """Send a signed package (`agent.upgrade_request`). The node installs it later: see `Status.upgrades`.

        Raise Refused if the node doesn't allow upgrades, or if the agent is too old.
        """
        self._request("PUT", UPGRADE_PATH, signed, len(signed), self.seconds_for(len(signed)))

    def top(self) -> Top:
        """Return PowerDNS's most frequent queries. Raise NodeUnreachable, or NotServed if PowerDNS doesn't answer."""
        return Top.from_json(self._get(TOP_PATH))

    def top_of_zones(self, zones: Sequence[str]) -> dict[str, Top]:
        """Return PowerDNS's most frequent queries for each of these zones, at most MOST_TOP_ZONES zones.

        Raise the errors of `top`, and Refused if the agent is too old.
        """
        answer = self._get(f"{TOP_ZONES_PATH}?{urlencode([('zone', zone) for zone in zones])}")
        if not isinstance(answer, dict):
            raise BadBytes(what="top of zones", reason=f"{answer!r:.80} is not one")
        return {zone: Top.from_json(top) for zone, top in answer.items() if zone in zones}

    def query_report(self, taken: str) -> QueryReport:
        """Return the questions since the report with the id `taken`. Raise the errors of `top_of_zones`."""
        return QueryReport.from_json(self._get(f"{QUERY_REPORT_PATH}?{urlencode({'taken': taken})}"))

    def log(self) -> list[str]:
        """Return the agent's last log lines, oldest first. Raise NodeUnreachable, or Refused if it is too old."""
        message = self._get(LOG_PATH)
        lines = message.get("lines") if isinstance(message, dict) else None
        if not isinstance(lines, list):
            raise BadBytes(what="log", reason=f"{message!r:.80} has no lines")
        return [str(line) for line in lines]

    def push(
        self, body: bytes | BinaryIO, size: int, *, may_defer: bool = False, unproven: Collection[str] = ()
    ) -> Ack:
        """Send sealed segments. Return once DNS queries have shown that the node's PowerDNS serves the new data.

        If `may_defer` is true, the node can verify new zones later. The ack then has `applied`, and `ack` returns the
        next ack. Agents that are too old for `may_defer` always wait. Signatures of zones in `unproven` (at most
        MAX_UNPROVEN) are not verified.

        Raise the agent's rejection (Gap, NotServed, Busy, Refused, …), or NodeUnreachable if no answer arrives. In the
        last case the node can have applied the segments; sending them again is harmless.
        """
        headers = (MAY_DEFER if may_defer else "") + _unproven_header(unproven)
        return Ack.from_json(self._request("PUT", SEGMENTS_PATH, body, size, self.seconds_for(size), headers))

    def ack(self) -> Ack:
        """Return the ack for the position that PowerDNS has reached. Used after an ack that has `applied`.

        Raise NotServed if PowerDNS doesn't answer, Busy if nothing is proved yet, or NodeUnreachable if the agent
        doesn't answer.
        """
        return Ack.from_json(self._get(ACK_PATH))

    def repair(self, sealed: bytes, *, unproven: Collection[str] = ()) -> "RepairAnswer":
        """Send a repair (`repair_zone.seal_repair`). Return once the node's PowerDNS serves the repaired zone.

        `unproven` is described in `push`. Raise Gap if the node is at another position, plus the errors of `push`.
        Idempotent.
        """
        seconds = self.seconds_for(len(sealed))
        answer = self._request("PUT", REPAIRS_PATH, sealed, len(sealed), seconds, _unproven_header(unproven))
        return RepairAnswer(Ack.from_json(answer), tuple(map(str, answer.get("words", ()))), int(answer.get("rows", 0)))

    def check(self) -> None:
        """Make the agent check every row now. `Status.checked_at` shows when the check is done."""
        self._request("POST", CHECK_PATH, b"", 0, self._answer_seconds)

    def zones(self, after: int = 0) -> Iterator[ServedZone]:
        """Yield every zone in the node's files with an id above `after`, ordered by id, page by page."""
        while page := [ServedZone.from_json(zone) for zone in self._get(f"{ZONES_PATH}?after={after}")]:
            yield from page
            after = page[-1].zone_id

    def zone_rows(self, zone_id: int) -> list[tuple[bytes, bytes]]:
        """Return keys and bodies of a zone's records on the node. Raise Refused if there are too many."""
        found = self._get(f"{ZONES_PATH}/{zone_id}/rows")
        return [(bytes.fromhex(key), bytes.fromhex(body)) for key, body in found]

    def all_zone_rows(self, zone_id: int) -> Iterator[tuple[bytes, bytes]]:
        """Yield the keys and bodies of a zone's records, page by page. The zone can have any size."""
        after = zone_prefix(zone_id)
        while found := self._get(f"{ZONES_PATH}/{zone_id}/rows?after={after.hex()}"):
            yield from ((bytes.fromhex(key), bytes.fromhex(body)) for key, body in found)
            after = bytes.fromhex(found[-1][0])

    def attached_objects(self, zone_id: int) -> list[tuple[int, int, bytes]]:
        """Return table, row id and body of a zone's metadata and DNSSEC keys on the node, with private parts sealed.

        Raise Refused if the agent is too old, and UnknownSealingKey if the agent has no sealing key.
        """
        found = self._get(f"{ZONES_PATH}/{zone_id}/attached")
        return [(int(table), int(row_id), bytes.fromhex(body)) for table, row_id, body in found]

    def close(self) -> None:
        if self.connection is not None:
            self.connection.close()
            self.connection = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def seconds_for(self, size: int) -> float:
        """Return the timeout in seconds of a request with a body of this size."""
        return self._answer_seconds + size / SLOWEST_BYTES_PER_SECOND

    def _get(self, target: str) -> Any:
        return self._request("GET", target, b"", 0, self._answer_seconds)

    def _request(
        self, method: str, target: str, body: bytes | BinaryIO, size: int, seconds: float, headers: str = ""
    ) -> Any:
        """Send a request and return the answer. If an open connection breaks, retry once. Raise NodeUnreachable."""
        if self.connection is not None:
            try:
                return self._attempt(method, target, body, size, seconds, headers)
            except _Broken:
                if not isinstance(body, bytes):
                    body.seek(0)
        try:
            return self._attempt(method, target, body, size, seconds, headers)
        except _Broken as exc:
            raise NodeUnreachable(host=self.host, port=self.port, reason=str(exc)) from exc

    def _attempt(
        self, method: str, target: str, body: bytes | BinaryIO, size: int, seconds: float, headers: str
    ) -> Any:
        try:
            connection = self._open_connection()
            connection.settimeout(seconds)
            self._send(connection, method, target, body, size, headers)
            with closing(http.client.HTTPResponse(connection, method=method)) as response:
                response.begin()
                answer = response.read()
        except (ConnectionResetError, BrokenPipeError, http.client.BadStatusLine, ssl.SSLEOFError) as exc:
            self.close()
            raise _Broken(str(exc) or type(exc).__name__) from exc
        except (OSError, http.client.HTTPException) as exc:
            self.close()
            raise NodeUnreachable(host=self.host, port=self.port, reason=str(exc) or type(exc).__name__) from exc
        if response.will_close:
            self.close()
        if response.status == _WRONG_CLOCK and (clock := decode_clock(answer)) is not None:
            raise WrongClock(host=self.host, port=self.port, clock=clock, now=time.time())
        return answer_of(response.status, answer)

    def _open_connection(self) -> ssl.SSLSocket:
        if self.connection is None:
            connection = self._connect()
            try:
                self.peer = str(connection.getpeername()[0])
                connection.do_handshake()
                self._refuse_another(connection)
            except BaseException as exc:
                connection.close()
                if isinstance(exc, ssl.SSLCertVerificationError) and exc.verify_code in (_EXPIRED, _NOT_YET_VALID):
                    raise Refused(error="WrongCertificate", message=self._describe_untimely(exc)) from exc
                raise
            self.connection = connection
        return self.connection

    def _connect(self) -> ssl.SSLSocket:
        """Connect to the host, without the TLS handshake. Raise OSError if none of its addresses accepts a connection.

        The socket is wrapped before it connects. Otherwise Python 3.11 doesn't close the result of `wrap_socket` if the
        other side has just reset the connection.
        """
        failure = OSError(f"{self.host} has no address")
        for family, kind, protocol, _, address in socket.getaddrinfo(self.host, self.port, type=socket.SOCK_STREAM):
            connection = self.ssl_context.wrap_socket(
                socket.socket(family, kind, protocol), server_hostname=self.host, do_handshake_on_connect=False
            )
            try:
                connection.settimeout(CONNECT_SECONDS)
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                connection.connect(address)
            except OSError as exc:
                connection.close()
                failure = exc
            else:
                return connection
        raise failure

    def _refuse_another(self, connection: ssl.SSLSocket) -> None:
        """Raise Refused unless the agent presented the expected certificate."""
        presented = hashlib.sha256(connection.getpeercert(binary_form=True) or b"").hexdigest()
        self.peer_sha256 = presented
        accepted = self.certificate_sha256
        if accepted is not None and presented not in (accepted if isinstance(accepted, frozenset) else {accepted}):
            message = gettext(
                "the agent at {host} port {port} presented an unexpected certificate ({fingerprint}…)"
            ).format(host=self.host, port=self.port, fingerprint=presented[:16])
            raise Refused(error="WrongCertificate", message=message)

    def _describe_untimely(self, error: ssl.SSLCertVerificationError) -> str:
        """Describe a certificate that has expired or isn't valid yet. Only this node is affected."""
        message = (
            gettext(
                "the agent’s certificate at {host} port {port} has expired. Revoke it on the node’s page and "
                "enroll the node again"
            )
            if error.verify_code == _EXPIRED
            else gettext(
                "the agent’s certificate at {host} port {port} isn’t valid yet, so the clock on the panel or the "
                "node is wrong"
            )
        )
        return message.format(host=self.host, port=self.port)

    def _send(
        self, connection: ssl.SSLSocket, method: str, target: str, body: bytes | BinaryIO, size: int, headers: str
    ) -> None:
        """Send a request. A small body is sent in one piece with its head, so that an edit fits into one packet."""
        head = request_head(method, target, self.host, size, headers)
        pieces = [head + body] if isinstance(body, bytes) else chain([head], iter(partial(body.read, 1 << 16), b""))
        for piece in pieces:
            connection.sendall(piece)
            self.bytes_sent += len(piece)


def request_head(method: str, target: str, host: str, size: int, headers: str = "") -> bytes:
    """Return the head of a request, as short as possible. `headers` are complete lines."""
    length = "" if method == "GET" else f"Content-Length: {size}\r\n"
    return f"{method} {target} HTTP/1.1\r\nHost: {host}\r\n{length}{headers}\r\n".encode("ascii")


def answer_of(status: int, body: bytes) -> Any:
    """Decode an agent's answer. Raise the agent's rejection, or BadBytes if the answer is not JSON."""
    if status != 200:
        raise decode_refusal(status, body)
    return decode_message(body)


def _unproven_header(zones: Collection[str]) -> str:
    return f"{UNPROVEN}: {encode_unproven(zones)}\r\n" if zones else ""


class _Broken(Exception):
    """The connection ended before an answer arrived."""
