"""Real servers for the agent's tests: a certificate authority, a pdns_server, and an agent process."""

import contextlib
import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from replication.agent.agent_config import Identity, format_identity
from replication.agent.powerdns.pdnsconf import LOOPBACK, PdnsSettings, render
from replication.node_client import NodeClient
from replication.wire.protocol import PANEL_NAME
from tests.ports import free_port
from tests.replication.panel import CLUSTER, MAP_SIZE, PUBLIC_KEYS, Panel

PDNS_SERVER = shutil.which("pdns_server", path="/usr/sbin:/usr/local/sbin:" + os.environ.get("PATH", ""))
API_KEY = "key-of-the-tests"


@contextmanager
def short_directory() -> Iterator[Path]:
    """Yield a directory whose path is short enough for UNIX sockets in it."""
    path = Path(tempfile.mkdtemp(prefix="dp-", dir="/tmp"))
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


class Authority:
    """A certificate authority, and the client certificate of a panel."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.certificate = self._certificate("authority", self.key.public_key(), ca=True)
        self.pem = self.certificate.public_bytes(serialization.Encoding.PEM)
        self.path = directory / "authority.pem"
        self.path.write_bytes(self.pem)

    def issue(
        self, name: str, stem: str, usage: x509.ObjectIdentifier | None = None, *, shifted: timedelta = timedelta(0)
    ) -> tuple[Path, Path]:
        """Return the paths of a new certificate and its key. `shifted` moves the certificate's validity."""
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = self._certificate(name, key.public_key(), usage=usage, shifted=shifted)
        paths = self.directory / f"{stem}.pem", self.directory / f"{stem}.key"
        paths[0].write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        paths[1].write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
        )
        return paths

    def sign(self, public_key: ec.EllipticCurvePublicKey, name: str) -> bytes:
        return self._certificate(name, public_key).public_bytes(serialization.Encoding.PEM)

    def client_context(self, name: str = PANEL_NAME, *, shifted: timedelta = timedelta(0)) -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=self.path)
        context.check_hostname = False
        context.load_cert_chain(*self.issue(name, f"client-{name}", ExtendedKeyUsageOID.CLIENT_AUTH, shifted=shifted))
        return context

    def _certificate(
        self,
        name: str,
        public_key: object,
        *,
        ca: bool = False,
        usage: x509.ObjectIdentifier | None = None,
        shifted: timedelta = timedelta(0),
    ) -> x509.Certificate:
        issuer = "authority"
        now = datetime.now(UTC) + shifted
        builder = (
            x509.CertificateBuilder()
            .issuer_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, issuer)]))
            .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]))
            .public_key(public_key)  # type: ignore[arg-type]
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(hours=1))
            .not_valid_after(now + timedelta(days=1))
            .add_extension(x509.BasicConstraints(ca=ca, path_length=None), critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(public_key), critical=False)  # type: ignore[arg-type]
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(self.key.public_key()), critical=False)
            .add_extension(
                x509.KeyUsage(
                    digital_signature=not ca,
                    content_commitment=False,
                    key_encipherment=False,
                    data_encipherment=False,
                    key_agreement=False,
                    key_cert_sign=ca,
                    crl_sign=ca,
                    encipher_only=False,
                    decipher_only=False,
                ),
                critical=True,
            )
        )
        if usage is not None:
            builder = builder.add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
        return builder.sign(self.key, hashes.SHA256())


class Pdns:
    """A real pdns_server on loopback that can be killed and started again."""

    def __init__(
        self, directory: Path, *, schema: int = 4, cores: int = 2, port: int | None = None, caches: bool = True
    ) -> None:
        self.directory, self.cores = directory, cores
        self.port, self.api_port = port or free_port(), free_port()
        self.lmdb_path = directory / "pdns.lmdb"
        self.control_socket = directory / "pdns.controlsocket"
        self._process: subprocess.Popen[bytes] | None = None
        settings = PdnsSettings(
            schema=schema,
            lmdb_path=str(self.lmdb_path),
            socket_dir=str(directory),
            addresses=("127.0.0.1",),
            port=self.port,
            cores=cores,
            api_port=self.api_port,
            api_key=API_KEY,
            map_size=MAP_SIZE,
            cache_entries=100_000,
            caches=caches,
            transfers_to=() if caches else LOOPBACK,
        )
        (directory / "pdns.conf").write_text(render(settings))

    def start(self) -> None:
        assert PDNS_SERVER is not None
        log = (self.directory / "pdns.log").open("ab")
        self._process = subprocess.Popen(
            [PDNS_SERVER, f"--config-dir={self.directory}"], stdout=log, stderr=subprocess.STDOUT
        )
        log.close()
        deadline = time.monotonic() + 60
        while not self._answers():
            assert self._process.poll() is None, (self.directory / "pdns.log").read_text()
            assert time.monotonic() < deadline, "pdns_server does not answer"
            time.sleep(0.05)

    def _answers(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=1):
                pass
            with socket.create_connection(("127.0.0.1", self.api_port), timeout=1):
                return self.control_socket.exists()
        except OSError:
            return False

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def questions(self) -> int:
        """Return the number of UDP questions since this PowerDNS started."""
        command = ["pdns_control", f"--socket-dir={self.directory}", "show", "udp-queries"]
        return int(subprocess.run(command, capture_output=True, check=True, text=True).stdout)


class SupervisedPdns(Pdns):
    """A pdns_server that is restarted whenever it ends, as systemd does."""

    def __init__(self, directory: Path, *, schema: int = 4) -> None:
        super().__init__(directory, schema=schema)
        self.starts = 0
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._supervise, daemon=True)

    def start(self) -> None:
        self._thread.start()
        deadline = time.monotonic() + 60
        while not self._answers():
            assert time.monotonic() < deadline, "pdns_server does not answer"
            time.sleep(0.02)

    def _supervise(self) -> None:
        while not self._done.is_set():
            with contextlib.suppress(AssertionError):
                Pdns.start(self)
                self.starts += 1
                assert self._process is not None
                while self._process.poll() is None and not self._done.is_set():
                    time.sleep(0.02)
            self._done.wait(0.1)

    def kill(self) -> None:
        self._done.set()
        self._thread.join()
        super().kill()


class AgentFiles:
    """The files that an agent reads: its identity and agent.toml."""

    def __init__(self, directory: Path, authority: Authority, pdns: Pdns, *, schema: int = 4) -> None:
        self.directory, self.authority, self.pdns, self.port = directory, authority, pdns, free_port()
        identity_dir = directory / "identity"
        identity_dir.mkdir()
        certificate, key = authority.issue("ns1", "node")
        shutil.copy(certificate, identity_dir / "node.pem")
        shutil.copy(key, identity_dir / "node.key")
        (identity_dir / "ca.pem").write_bytes(authority.pem)
        identity = Identity("ns1", CLUSTER, schema, PUBLIC_KEYS)
        (identity_dir / "identity.json").write_text(format_identity(identity))
        self.path = directory / "agent.toml"
        self.settings: dict[str, str | int | bool] = {
            "identity_dir": "identity",
            "state_dir": "state",
            "lmdb_path": str(pdns.lmdb_path),
            "control_socket": str(pdns.control_socket),
            "dns_address": "127.0.0.1",
            "dns_port": pdns.port,
            "receiver_threads": pdns.cores,
            "listen_host": "127.0.0.1",
            "listen_port": self.port,
            "api_port": pdns.api_port,
            "api_key": API_KEY,
            "map_size_mib": MAP_SIZE >> 20,
        }
        self.write()

    def write(self) -> None:
        lines = [f"{name} = {json.dumps(value)}\n" for name, value in self.settings.items()]
        self.path.write_text("".join(lines))


class AgentProcess:
    """`python -m replication.agent run`, as a process that can be killed."""

    def __init__(self, files: AgentFiles) -> None:
        self._files = files
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        log = (self._files.directory / "agent.log").open("ab")
        self._process = subprocess.Popen(
            [sys.executable, "-m", "replication.agent", "run", "--config", str(self._files.path)],
            stdout=log,
            stderr=subprocess.STDOUT,
            cwd=Path(__file__).parents[3],
        )
        log.close()
        deadline = time.monotonic() + 60
        while True:
            assert self._process.poll() is None, self.log()
            try:
                socket.create_connection(("127.0.0.1", self._files.port), timeout=1).close()
                return
            except OSError:
                assert time.monotonic() < deadline, "the agent does not listen"
                time.sleep(0.05)

    def signal(self, number: int = signal.SIGKILL) -> int:
        assert self._process is not None
        self._process.send_signal(number)
        status = self._process.wait(timeout=10)
        self._process = None
        return status

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def stop(self) -> None:
        if self._process is not None:
            self.signal(signal.SIGKILL)

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def log(self) -> str:
        return (self._files.directory / "agent.log").read_text()


def client_for(files: AgentFiles, context: ssl.SSLContext) -> NodeClient:
    return NodeClient("127.0.0.1", files.port, context, answer_seconds=30)


@contextmanager
def pdns_of_panel(*, caches: bool = True) -> Iterator[tuple[Panel, Pdns]]:
    """Yield a panel, and a pdns_server on its store that isn't started. Stop both. Skip without pdns_server."""
    if PDNS_SERVER is None:
        pytest.skip("pdns_server is not installed")
    with short_directory() as directory:
        pdns, panel = Pdns(directory, caches=caches), Panel(directory)
        for suffix in ("", "-0"):
            (directory / f"panel.lmdb{suffix}").rename(f"{pdns.lmdb_path}{suffix}")
            (directory / f"panel.lmdb{suffix}-lock").rename(f"{pdns.lmdb_path}{suffix}-lock")
        try:
            yield panel, pdns
        finally:
            pdns.kill()
            panel.close()
