"""An Unbound resolver on loopback, with caches, that validates from the trust anchors of a test."""

import contextlib
import re
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import dns.exception
import dns.flags
import dns.message
import dns.query
import dns.rcode

from tests.ports import free_port

START_SECONDS = 20
# A zone's servers come from stub zones with their ports, because a delegation has no port. `aggressive-nsec` is on by
# default in newer releases: it answers from the cache if a proof of non-existence covers the name.
CONF = """\
server:
    directory: "{directory}"
    chroot: ""
    username: ""
    pidfile: ""
    use-syslog: no
    logfile: "{directory}/log"
    val-log-level: 2
    log-servfail: yes
    interface: 127.0.0.1@{port}
    do-ip6: no
    num-threads: 1
    do-not-query-localhost: no
    aggressive-nsec: yes
    infra-keep-probing: yes
    infra-host-ttl: 1
    val-bogus-ttl: 1
    module-config: "validator iterator"
    local-zone: "test." nodefault
{anchors}
remote-control:
    control-enable: no
{stubs}"""
STUB = 'stub-zone:\n    name: "{zone}"\n{addresses}'
_FAILURE = re.compile(r"validation failure (.*)")


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply of the resolver: its response code, and True if it was validated."""

    rcode: str
    is_secure: bool


class Unbound:
    """A running Unbound. `bogus` lists validation failures since its start, in Unbound's words."""

    def __init__(self, port: int, directory: Path) -> None:
        self.port, self._log = port, directory / "log"

    @property
    def bogus(self) -> list[str]:
        """The answers that did not validate since the start, each with Unbound's reason."""
        return _FAILURE.findall(self._log.read_text(errors="replace"))

    def ask(self, name: str, type: str, *, seconds: float = 10) -> Reply:
        """Send a query to the resolver. Raise dns.exception.Timeout if no answer arrives in time."""
        query = dns.message.make_query(name, type, want_dnssec=True)
        answer = dns.query.udp_with_fallback(query, "127.0.0.1", port=self.port, timeout=seconds)[0]
        return Reply(dns.rcode.to_text(answer.rcode()), bool(answer.flags & dns.flags.AD))


@contextlib.contextmanager
def unbound(
    servers: Mapping[str, Sequence[int]], anchors: Sequence[str], *, at: datetime | None = None
) -> Iterator[Unbound]:
    """Run an Unbound that queries these ports of 127.0.0.1 for each zone and trusts these DNSKEY or DS records.

    `at` is the time for judging signatures, by default now.
    """
    with tempfile.TemporaryDirectory(prefix="unbound-") as folder:
        directory, port = Path(folder), free_port()
        stubs = "".join(
            STUB.format(zone=zone, addresses="".join(f"    stub-addr: 127.0.0.1@{each}\n" for each in ports))
            for zone, ports in servers.items()
        )
        lines = "".join(f"    trust-anchor: '{anchor}'\n" for anchor in anchors)
        conf = directory / "unbound.conf"
        if at is not None:
            lines += f'    val-override-date: "{at.astimezone(UTC):%Y%m%d%H%M%S}"\n'
        conf.write_text(CONF.format(directory=directory, port=port, anchors=lines, stubs=stubs))
        process = subprocess.Popen(["unbound", "-d", "-c", str(conf)], stdout=subprocess.DEVNULL)
        try:
            running = Unbound(port, directory)
            _wait_for(running, next(iter(servers)), process, directory)
            yield running
        finally:
            process.kill()
            process.wait()


def _wait_for(running: Unbound, zone: str, process: "subprocess.Popen[bytes]", directory: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while process.poll() is None and time.monotonic() < deadline:
        with contextlib.suppress(OSError, dns.exception.DNSException):
            running.ask(zone, "SOA", seconds=1)
            return
        time.sleep(0.05)
    log = directory / "log"
    raise AssertionError(f"unbound does not answer: {log.read_text(errors='replace')[-2000:] if log.exists() else ''}")
