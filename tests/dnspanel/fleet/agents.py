"""A test agent without PowerDNS: real TLS, real segments, a real LMDB, and counters that the test sets."""

import ssl
import tempfile
import threading
import time
from dataclasses import dataclass, field, replace
from functools import cached_property
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit
from uuid import UUID

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

from replication.agent.integrity_scan import IntegrityScanner
from replication.agent.zones import zones_answer
from replication.errors import Busy, ReplicationError
from replication.store.snapshot import Manifest, SnapshotFile, open_manifest, snapshot_id
from replication.store.store import Copied, Store
from replication.wire import protocol
from replication.wire.protocol import Ack, Sample, Status, encode_message, encode_refusal
from replication.wire.segment import open_segment, open_segments


@dataclass
class Agent:
    """The node's side of the push channel. `refuse_with` makes it refuse, and `digest` overrides its digest."""

    store: Store
    signing_keys: tuple[bytes, ...]
    samples: list[Sample] = field(default_factory=list)
    top: protocol.Top | None = None
    query_reports: list[protocol.QueryReport] = field(default_factory=list)  # repeated until the panel has taken it
    zone_tops: dict[str, protocol.Top] = field(default_factory=dict)
    log: list[str] = field(default_factory=list)
    versions: dict[str, str] = field(default_factory=lambda: {"agent": "1", "powerdns": "4.7.3"})
    refuse_with: ReplicationError | None = None
    lie: bool = False
    requests: int = 0
    paths: list[str] = field(default_factory=list)
    is_old: bool = False  # it sends no samples with its status
    clock_offset: float = 0.0
    server: ThreadingHTTPServer | None = None
    checks: int = 0
    repairs: list[str] = field(default_factory=list)
    # PowerDNS hasn't read the new list of zones yet. `last_ack` is the newest ack, or None after a start.
    lists_later: bool = False
    last_ack: Ack | None = None
    # A snapshot that is being received: its id, its manifest, and the received chunks.
    snapshot: str = ""
    manifest: Manifest | None = None
    chunks: dict[int, bytes] = field(default_factory=dict)
    refuse_snapshots_with: ReplicationError | None = None
    chunks_until_death: int = -1

    def next_report(self, query: str) -> protocol.QueryReport:
        if parse_qs(query).get("taken") == [self.query_reports[0].id]:
            del self.query_reports[0]
        return self.query_reports[0]

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
        ack = Ack(position, bytes(16) if self.lie else main, records)
        if self.lists_later and self.last_ack is not None:
            return replace(self.last_ack, applied=position)
        self.last_ack = ack
        return ack

    def ack(self) -> Ack:
        """Return the newest ack. Raise Busy if the agent has just started."""
        if self.last_ack is None:
            raise Busy(what="the agent")
        position = self.store.position()
        assert position is not None
        if self.lists_later:
            return replace(self.last_ack, applied=position)
        self.last_ack = Ack(position, *self.store.digests())
        return self.last_ack

    def repair(self, body: bytes) -> dict[str, object]:
        repaired = self.store.repair(open_segment(body, self.signing_keys))
        self.scanner.recheck([repaired.mark.zone_id])
        self.repairs.append(repaired.mark.name)
        position = self.store.position()
        assert position is not None
        return Ack(position, *self.store.digests()).to_json() | {"words": repaired.differences, "rows": repaired.rows}

    def check(self) -> None:
        self.checks += 1
        self.scanner.check_now()
        self.scanner.step(time.monotonic())

    @cached_property
    def scanner(self) -> IntegrityScanner:
        return IntegrityScanner(self.store)

    def offer(self, name: str, sealed: bytes) -> list[int]:
        """Return the missing chunks of the snapshot. Chunks of another snapshot are dropped."""
        if self.refuse_snapshots_with is not None:
            raise self.refuse_snapshots_with
        assert snapshot_id(sealed) == name
        if self.manifest is None or self.snapshot != name:
            self.snapshot, self.manifest, self.chunks = name, open_manifest(sealed, self.signing_keys), {}
        return [number for number in range(len(self.manifest.chunks)) if number not in self.chunks]

    def take_chunk(self, number: int, stored: bytes) -> None:
        assert self.manifest is not None
        if self.chunks_until_death == 0:
            raise ConnectionAbortedError
        self.chunks_until_death -= 1
        self.chunks[number] = self.manifest.chunks[number].open(stored)

    def install(self) -> Ack:
        """Replace the store's content by the snapshot's."""
        manifest = self.manifest
        assert manifest is not None
        assert len(self.chunks) == len(manifest.chunks)
        with tempfile.TemporaryDirectory() as directory:
            for file, name in ((SnapshotFile.MAIN, "copy"), (SnapshotFile.RECORDS, "copy-0")):
                pieces = [self.chunks[n] for n, chunk in enumerate(manifest.chunks) if chunk.file is file]
                (Path(directory) / name).write_bytes(b"".join(pieces))
            copied = Copied(manifest.position, manifest.digest_main, manifest.digest_records)
            self.store.install(self.snapshot, Path(directory) / "copy", copied, time_ns=manifest.time_ns)
        self.manifest = None
        return Ack(manifest.position, bytes(16) if self.lie else manifest.digest_main, manifest.digest_records)

    def status(self) -> Status:
        main, records = self.store.digests()
        return Status(
            node="ns1",
            position=self.store.position(),
            digest_main=main,
            digest_records=records,
            schema=4,
            state="in order",
            clock=time.time() + self.clock_offset,
            versions=self.versions,
            diverged=self.scanner.diverged,
            diverged_count=self.scanner.diverged_count,
            checked_at=self.scanner.checked_at,
        )


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    agent: Agent

    def log_message(self, *_: object) -> None:
        """Log nothing."""

    def do_PUT(self) -> None:
        self.agent.requests += 1
        body = self.rfile.read(int(self.headers["Content-Length"]))
        try:
            self._answer(200, encode_message(self._put(body)))
        except ReplicationError as exc:
            self._answer(*encode_refusal(exc, self.agent.store.position()))
        except ConnectionAbortedError:
            self.close_connection = True

    def _put(self, body: bytes) -> object:
        parts = self.path.removeprefix(protocol.SNAPSHOTS_PATH).strip("/").split("/")
        if self.path == protocol.SEALING_KEYS_PATH:
            return {}
        if self.path == protocol.REPAIRS_PATH:
            return self.agent.repair(body)
        if not self.path.startswith(protocol.SNAPSHOTS_PATH):
            return self.agent.apply(body).to_json()
        if parts[1:2] == ["chunks"]:
            self.agent.take_chunk(int(parts[2]), body)
            return {}
        return {"missing": self.agent.offer(parts[0], body)}

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.path == protocol.CHECK_PATH:
            self.agent.check()
            self._answer(200, encode_message({}))
            return
        try:
            self._answer(200, encode_message(self.agent.install().to_json()))
        except ReplicationError as exc:
            self._answer(*encode_refusal(exc, self.agent.store.position()))

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        self.agent.paths.append(self.path)
        if url.path == protocol.STATUS_PATH:
            self._answer(200, self._status(parse_qs(url.query).get("samples_after")))
        elif url.path == protocol.ACK_PATH:
            try:
                self._answer(200, encode_message(self.agent.ack().to_json()))
            except ReplicationError as exc:
                self._answer(*encode_refusal(exc, self.agent.store.position()))
        elif url.path == protocol.TOP_PATH and self.agent.top is not None:
            self._answer(200, encode_message(self.agent.top.to_json()))
        elif url.path == protocol.QUERY_REPORT_PATH and self.agent.query_reports:
            self._answer(200, encode_message(self.agent.next_report(url.query)))
        elif url.path == protocol.TOP_ZONES_PATH and self.agent.zone_tops:
            tops = {zone: self.agent.zone_tops[zone].to_json() for zone in parse_qs(url.query)["zone"]}
            self._answer(200, encode_message(tops))
        elif url.path == protocol.LOG_PATH and self.agent.log:
            self._answer(200, encode_message({"lines": self.agent.log}))
        elif url.path in {
            protocol.TOP_PATH,
            protocol.TOP_ZONES_PATH,
            protocol.LOG_PATH,
            protocol.QUERY_REPORT_PATH,
        }:  # like an agent that doesn't know the path
            self._answer(404, encode_message({"error": "BadRequest", "message": "no such path", "position": None}))
        elif url.path.startswith(protocol.ZONES_PATH):
            self._answer(200, encode_message(zones_answer(self.agent.store, url.path, parse_qs(url.query), None)))
        else:
            self._answer(200, self._samples(float(parse_qs(url.query)["after"][0])))

    def _status(self, samples_after: list[str] | None) -> bytes:
        status = encode_message(self.agent.status().to_json())
        if samples_after is None or self.agent.is_old:
            return status
        return protocol.with_samples(status, self._samples(float(samples_after[0])))

    def _samples(self, after: float) -> bytes:
        return encode_message([s.to_json() for s in self.agent.samples if s.at > after])

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
