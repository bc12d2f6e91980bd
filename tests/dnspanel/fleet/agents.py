"""An agent without a PowerDNS: real TLS, real segments, a real LMDB, and counters that a test writes."""

import ssl
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit
from uuid import UUID

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from replication import protocol
from replication.errors import ReplicationError
from replication.protocol import Ack, Sample, Status, encode_message, encode_refusal
from replication.segment import open_segments
from replication.store import Store


@dataclass
class Agent:
    """One node's side of the push channel; `refuse_with` makes it refuse, `digest` makes it lie."""

    store: Store
    signing_keys: tuple[bytes, ...]
    samples: list[Sample] = field(default_factory=list)
    versions: dict[str, str] = field(default_factory=lambda: {"agent": "1", "powerdns": "4.7.3"})
    refuse_with: ReplicationError | None = None
    lie: bool = False
    requests: int = 0
    clock_offset: float = 0.0
    server: ThreadingHTTPServer | None = None

    @property
    def port(self) -> int:
        assert self.server is not None
        return int(self.server.server_address[1])

    def start(self, pem: Path, ca_pem: str, port: int = 0) -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(pem)
        context.load_verify_locations(cadata=ca_pem)
        context.verify_mode = ssl.CERT_REQUIRED
        handler = type("Handler", (_Handler,), {"agent": self})
        self.server = ThreadingHTTPServer(("127.0.0.1", port), handler)
        self.server.daemon_threads = True
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def stop(self) -> None:
        if self.server is not None:
            self.server.shutdown()
            self.server.server_close()
        self.server = None

    def apply(self, body: bytes) -> Ack:
        if self.refuse_with is not None:
            raise self.refuse_with
        for segment in open_segments(body, self.signing_keys):
            self.store.apply(segment)
        position = self.store.position()
        assert position is not None
        main, records = self.store.digests()
        return Ack(position, bytes(16) if self.lie else main, records)

    def status(self) -> Status:
        main, records = self.store.digests()
        return Status(
            node="ns1", position=self.store.position(), digest_main=main, digest_records=records, schema=4,
            state="in order", clock=time.time() + self.clock_offset, versions=self.versions,
        )  # fmt: skip


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    agent: Agent

    def log_message(self, *_: object) -> None:
        """Tests are quiet."""

    def do_PUT(self) -> None:
        self.agent.requests += 1
        body = self.rfile.read(int(self.headers["Content-Length"]))
        try:
            self._answer(200, encode_message(self.agent.apply(body).to_json()))
        except ReplicationError as exc:
            self._answer(*encode_refusal(exc, self.agent.store.position()))

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        if url.path == protocol.STATUS_PATH:
            self._answer(200, encode_message(self.agent.status().to_json()))
        else:
            after = float(parse_qs(url.query)["after"][0])
            self._answer(200, encode_message([s.to_json() for s in self.agent.samples if s.at > after]))

    def _answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def write_pem(path: Path, certificate_pem: str, key: ec.EllipticCurvePrivateKey) -> Path:
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    path.write_bytes(certificate_pem.encode() + private)
    return path


def open_store(directory: Path, cluster: UUID) -> Store:
    directory.mkdir(parents=True, exist_ok=True)
    return Store.open(directory / "pdns.lmdb", 4, 1 << 30, cluster=cluster)
