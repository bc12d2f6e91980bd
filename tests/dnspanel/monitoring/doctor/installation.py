"""A healthy installation for tests of the doctor: real stores, rows of processes and nodes, and small real servers."""

import contextlib
import socket
import ssl
import struct
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

from django.db import connection
from django.utils import timezone

from dnspanel.backup.models import Backup
from dnspanel.fleet.models import Node
from dnspanel.fleet.nodes.authority import ensure_authority
from dnspanel.fleet.nodes.heartbeats import COLLECTOR, DRILL, WATCH, WATCH_SINCE, answer_roll, beat
from dnspanel.fleet.processes.beats import Identity, Load, beat_process
from dnspanel.fleet.processes.process_roles import BUSY_FOR, PROXY, REQUIRED
from dnspanel.zones.models import LogHead
from replication import __version__
from tests.dnspanel.fleet.conftest import create_active_node
from tests.own_certificates import OwnCertificate

# The test's PostgreSQL doesn't wait for disks, because tests lose nothing. An operator's has to.
DURABLE = ("fsync", "full_page_writes", "synchronous_commit")


@dataclass
class Server:
    """A server on loopback that accepts TCP connections, and answers DNS queries over the given protocols."""

    ways: tuple[str, ...] = ("udp", "tcp")
    certificate: OwnCertificate | None = None
    directory: Path = Path()
    port: int = 0
    _sockets: list[socket.socket] = field(default_factory=list)

    def start(self) -> None:
        tcp = socket.create_server(("127.0.0.1", 0))
        self.port = tcp.getsockname()[1]
        udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        udp.bind(("127.0.0.1", self.port))
        self._sockets = [tcp, udp]
        for loop in (self._serve_tcp, self._serve_udp):
            threading.Thread(target=loop, daemon=True).start()

    def stop(self) -> None:
        for each in self._sockets:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _serve_udp(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                query, client = self._sockets[1].recvfrom(4096)
                if query and "udp" in self.ways:
                    self._sockets[1].sendto(_reply(query), client)

    def _serve_tcp(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._sockets[0].accept()
                with client, contextlib.suppress(OSError, struct.error):
                    if self.certificate:
                        self._context().wrap_socket(client, server_side=True).close()
                    elif "tcp" in self.ways:
                        client.settimeout(2)
                        (length,) = struct.unpack("!H", client.recv(2))
                        reply = _reply(client.recv(length))
                        client.sendall(struct.pack("!H", len(reply)) + reply)

    def _context(self) -> ssl.SSLContext:
        certificate, key = write_pair(self.certificate, self.directory)
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(certificate, key)
        return context


def _reply(query: bytes) -> bytes:
    """Return the query as a REFUSED answer, as PowerDNS answers for a zone that it lacks."""
    return query[:2] + bytes([query[2] | 0x80, 5]) + query[4:]


def write_pair(made: OwnCertificate | None, directory: Path) -> tuple[str, str]:
    """Write a certificate and its key into files, and return their paths."""
    assert made is not None
    certificate, key = directory / "tls.pem", directory / "tls.key"
    certificate.write_text(made.certificate)
    key.write_text(made.key)
    key.chmod(0o600)
    return str(certificate), str(key)


@dataclass
class Installation:
    """The nodes and servers of a healthy installation, which tests then break."""

    servers: dict[str, Server]
    directory: Path

    def node(self, name: str = "ns1") -> Node:
        return Node.objects.get(name=name)

    def change_node(self, name: str = "ns1", **values: Any) -> None:
        Node.objects.filter(name=name).update(**values)

    def report(self, name: str = "ns1", **values: Any) -> None:
        """Change values of the node's last report."""
        self.change_node(name, report={**self.node(name).report, **values})


def write_rows(servers: dict[str, Server]) -> None:
    """Write what the processes of a panel record: that they run, that nodes answer, that backups exist."""
    now = timezone.now()
    ensure_authority(now=now - timedelta(days=200))
    head = LogHead.objects.get()
    for name, server in servers.items():
        create_active_node(name, agent_port=server.port)
        report = {
            "clock": now.timestamp(),
            "versions": {"agent": __version__, "powerdns": "4.7.3"},
            "machine": name,
            "position": {"epoch": str(head.epoch), "sequence": head.sequence},
            "disk_bytes": 1000,
            "disk_free_bytes": 500,
            "map_used": 0.1,
        }
        Node.objects.filter(name=name).update(
            dns_address="127.0.0.1", dns_port=server.port, is_ring0=name == "ring0", epoch=head.epoch,
            acked=head.sequence, contact_at=now, reported_at=now, report=report,
        )  # fmt: skip
    for process in (*REQUIRED, PROXY):
        identity = Identity(process, socket.gethostname(), 1, now - timedelta(hours=1))
        beat_process(identity=identity, load=Load(), now=now)
    for queue in BUSY_FOR:
        answer_roll(queue=queue, now=now)
    for name, age in ((COLLECTOR, 0), (WATCH, 0), (WATCH_SINCE, 3600), (DRILL, 86_400)):
        beat(process=name, now=now - timedelta(seconds=age))
    Backup.objects.create(at=now, epoch=head.epoch, sequence=0, size=1, seconds=1)


@contextlib.contextmanager
def durable_postgresql() -> Iterator[None]:
    """Give the test's PostgreSQL the settings of production."""
    try:
        for name in DURABLE:
            run(f"ALTER SYSTEM SET {name} = on")
        reload_settings()
        yield
    finally:
        for name in DURABLE:
            run(f"ALTER SYSTEM RESET {name}")
        reload_settings()


def run(statement: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement)


def reload_settings() -> None:
    """Let PostgreSQL read its settings, and wait until this session has them."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_conf_load_time()")
        before = cursor.fetchone()
        cursor.execute("SELECT pg_reload_conf()")
        now = before
        while now == before:
            cursor.execute("SELECT pg_conf_load_time()")
            now = cursor.fetchone()


def use_servers(servers: dict[str, Server], test_settings: Any) -> None:
    test_settings.PANEL_URL = test_settings.PROXY_URL = f"http://127.0.0.1:{servers['ns1'].port}"
