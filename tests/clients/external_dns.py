"""external-dns with its provider `pdns`. It creates records from its source, and marks its own with TXT records.

In a cluster the names come from Kubernetes. Here they come from its source "connector", which reads a TCP server.
"""

import json
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.clients.packages import go_programs
from tests.clients.services import LOOPBACK, Service
from tests.dnspanel.transfer.running import listening, running
from tests.ports import free_port

ALL_RIGHT = "All records are already up to date"


@dataclass(frozen=True, slots=True)
class Source:
    """The endpoints that external-dns should create. The TCP server reads the file for each request."""

    address: str
    file: Path

    def wants(self, endpoints: Mapping[tuple[str, str], Sequence[str]]) -> None:
        """Set the names, types and targets that external-dns should create, in place of earlier ones."""
        entries: list[dict[str, Any]] = [
            {"dnsName": name, "recordType": rdtype, "targets": list(targets), "recordTTL": 60}
            for (name, rdtype), targets in endpoints.items()
        ]
        self.file.write_text(json.dumps(entries))


@contextmanager
def source(directory: Path) -> Iterator[Source]:
    """Run a TCP server for the source "connector". Raise NotInstalled if its program cannot be installed."""
    port = free_port()
    made = Source(f"{LOOPBACK}:{port}", directory / "endpoints.json")
    made.wants({})
    command = [go_programs("external-dns") / "external-dns-endpoints", made.address, made.file]
    with running(command, directory / "endpoints.log", listening(port)):
        yield made


def synchronize(wanted: Source, *, zone: str, service: Service) -> str:
    """Run one round of external-dns, and return its output. Raise AssertionError with the output if it fails."""
    command = [
        str(go_programs("external-dns") / "external-dns"),
        "--once",
        "--provider=pdns",
        "--registry=txt",
        f"--pdns-server={service.url}",
        f"--pdns-api-key={service.key}",
        "--txt-owner-id=bench",
        f"--domain-filter={zone.rstrip('.')}",
        "--source=connector",
        f"--connector-source-server={wanted.address}",
        "--managed-record-types=A",
        "--managed-record-types=AAAA",
        "--managed-record-types=CNAME",
        "--managed-record-types=TXT",
        "--managed-record-types=MX",
        "--metrics-address=127.0.0.1:0",
    ]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=180)
    assert done.returncode == 0, done.stdout[-4000:]
    assert "level=error" not in done.stdout, done.stdout[-4000:]
    return done.stdout
