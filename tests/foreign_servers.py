"""BIND, Knot and NSD on loopback, with the configuration that a secondary's page offers, and addresses to listen on.

Files that this configuration expects in /etc/bind or /etc/nsd are in the directory above the server's directory: the CA
certificate to copy, and for TLS the certificate and key. With TLS, the TLS port answers questions too.

Debian 12's Knot has no TLS, and its NSD can't read catalog zones. `newer_knot` and `newer_nsd` are from a newer suite.
"""

import re
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import dns.exception
import dns.message
import dns.query
import dns.rdatatype
import dns.zone

from tests.oracle.powerdns import Unavailable, program_of_suite

HERE = "127.0.0.1"
Record = tuple[str, int, str, str]  # name, TTL, type, rdata


@dataclass(frozen=True, slots=True)
class Foreign:
    """A running secondary: its port, its log, and a function that returns the text of a zone."""

    kind: str
    port: int
    log: Path
    text_of: Callable[[str], str]

    def answer(self, name: str, type_: str = "SOA") -> dns.message.Message | None:
        try:
            return dns.query.udp(dns.message.make_query(name, type_, flags=0), HERE, port=self.port, timeout=2)
        except (dns.exception.Timeout, OSError):
            return None

    def serial_of(self, zone: str) -> int | None:
        answer = self.answer(zone)
        return int(answer.answer[0][0].serial) if answer is not None and answer.answer else None

    def records_of(self, zone: str) -> set[Record]:
        """Return every record of the zone in dnspython's text form."""
        return in_canonical_form(zone, self.text_of(zone))


def in_canonical_form(zone: str, text: str) -> set[Record]:
    parsed = dns.zone.from_text(text, origin=zone, relativize=False, check_origin=False)
    return {
        (name.to_text(), ttl, dns.rdatatype.to_text(data.rdtype), data.to_text())
        for name, ttl, data in parsed.iterate_rdatas()
    }


Made = tuple[list[str], Callable[[str], str]]  # the command, and a function that returns a zone's text
SUITE = "trixie"
CERTIFICATE, KEY = "dnspanel-client.pem", "dnspanel-client.key"
AUTHORITY = "dnspanel-authority.pem"


def bind(directory: Path, port: int, parts: list[str], tls_port: int | None = None) -> Made:
    around = directory.parent
    *authority, options, rest = (
        part.replace("/var/cache/bind", str(directory)).replace("/etc/bind", str(around)) for part in parts
    )
    (around / AUTHORITY).write_text("".join(authority))
    if tls_port is not None:
        options += f"listen-on port {tls_port} tls own {{ 127.0.0.1; }};\n"
        rest += f'tls own {{ cert-file "{around / CERTIFICATE}"; key-file "{around / KEY}"; }};\n'
    (directory / "options.conf").write_text(options)
    (directory / "dnspanel.conf").write_text(rest)
    (directory / "named.conf").write_text(
        f'options {{ directory "{directory}"; listen-on port {port} {{ 127.0.0.1; }}; listen-on-v6 {{ none; }};'
        f' pid-file none; session-keyfile none; recursion no; notify no; include "{directory}/options.conf"; }};\n'
        f'controls {{ }};\ninclude "{directory}/dnspanel.conf";\n'
    )

    def text_of(zone: str) -> str:
        transfer = dns.query.xfr(HERE, zone, port=port, relativize=False, timeout=10)
        found = dns.zone.from_xfr(transfer, relativize=False).to_text()
        assert isinstance(found, str)
        return found

    return ["named", "-g", "-n", "1", "-c", str(directory / "named.conf")], text_of


def knot(
    directory: Path,
    port: int,
    parts: list[str],
    tls_port: int | None = None,
    programs: Sequence[str] = ("knotd", "knotc"),
) -> Made:
    conf = directory / "knot.conf"
    over_tls = "" if tls_port is None else f"    listen-tls: 127.0.0.1@{tls_port}\n"
    conf.write_text(
        f"server:\n    listen: 127.0.0.1@{port}\n{over_tls}    rundir: {directory}\n    user: root\n"
        f"database:\n    storage: {directory}\n"
        f"log:\n  - target: stderr\n    any: info\n"
        f"template:\n  - id: default\n    storage: {directory}\n\n"
        + re.sub(r"(  - id: \S+-member\n)", rf"\1    storage: {directory}\n", parts[0]).replace(
            "/etc/knot", str(directory.parent)
        )
    )
    server, control = programs

    def text_of(zone: str) -> str:
        done = subprocess.run(
            [control, "-c", str(conf), "zone-read", zone], capture_output=True, text=True, timeout=20, check=True
        )
        return "\n".join(re.sub(r"^\[[^]]*\] ", "", line) for line in done.stdout.splitlines())

    return [server, "-c", str(conf)], text_of


def newer_knot(directory: Path, port: int, parts: list[str], tls_port: int | None = None) -> Made:
    """Run Knot from a newer Debian suite. Raise Unavailable if the suite can't be installed here."""
    programs = [str(program_of_suite(SUITE, f"usr/sbin/{name}", directory)) for name in ("knotd", "knotc")]
    return knot(directory, port, parts, tls_port, programs)


def nsd(
    directory: Path,
    port: int,
    parts: list[str],
    tls_port: int | None = None,
    programs: Sequence[str] = ("nsd", "nsd-control"),
) -> Made:
    conf, around = directory / "nsd.conf", directory.parent
    pattern, over_tls = 'pattern:\n    name: "dnspanel"\n', ""
    if tls_port is not None:
        (around / AUTHORITY).write_text(parts[0])
        over_tls = (
            f"    ip-address: 127.0.0.1@{tls_port}\n    tls-port: {tls_port}\n"
            f'    tls-service-pem: "{around / CERTIFICATE}"\n    tls-service-key: "{around / KEY}"\n'
        )
    conf.write_text(
        f'server:\n    ip-address: 127.0.0.1@{port}\n{over_tls}    zonesdir: "{directory}"\n'
        f'    username: ""\n    chroot: ""\n'
        f'    database: ""\n    pidfile: ""\n    xfrdfile: "{directory}/xfrd.state"\n    xfrdir: "{directory}"\n'
        f'    zonelistfile: "{directory}/zone.list"\n    verbosity: 2\n    server-count: 1\n'
        "    xfrd-reload-timeout: 0\n"
        f'remote-control:\n    control-enable: yes\n    control-interface: "{directory}/control"\n'
        + parts[-1].replace("/etc/nsd", str(around)).replace(pattern, f'{pattern}    zonefile: "%s.zone"\n')
    )
    server, control = programs

    def text_of(zone: str) -> str:
        path = directory / f"{zone.removesuffix('.')}.zone"
        path.unlink(missing_ok=True)
        subprocess.run([control, "-c", str(conf), "write", zone], capture_output=True, timeout=20, check=True)
        deadline = time.monotonic() + 10
        while not path.exists() and time.monotonic() < deadline:  # another process of the server writes it
            time.sleep(0.01)
        return path.read_text()

    return [server, "-d", "-c", str(conf)], text_of


def newer_nsd(directory: Path, port: int, parts: list[str], tls_port: int | None = None) -> Made:
    """Run NSD from a newer suite, with all `parts` except the last, which is for NSD without catalog zones."""
    programs = [str(program_of_suite(SUITE, f"usr/sbin/{name}", directory)) for name in ("nsd", "nsd-control")]
    return nsd(directory, port, parts[:-1], tls_port, programs)


MAKERS = {"bind": bind, "knot": knot, "nsd": nsd}
NEWER = {"newer-knot": newer_knot, "newer-nsd": newer_nsd}


def newer_kinds() -> list[str]:
    """Return the kinds in NEWER if the newer suite can be installed here, else an empty list."""
    try:
        with tempfile.TemporaryDirectory() as directory:
            program_of_suite(SUITE, "usr/sbin/knotd", Path(directory))
    except Unavailable:
        return []
    return list(NEWER)


@contextmanager
def running(
    root: Path,
    ports: Mapping[str, int],
    parts: Mapping[str, Sequence[str]],
    kinds: Sequence[str] = tuple(MAKERS),
    *,
    tls_ports: Mapping[str, int] | None = None,
) -> Iterator[list[Foreign]]:
    """Run servers of these kinds, each in its own directory with the configuration of its kind.

    They answer over TLS at the ports in `tls_ports`.
    """
    processes: list[subprocess.Popen[bytes]] = []
    servers = []
    try:
        for kind in kinds:
            directory = root / kind
            directory.mkdir()
            command, text_of = (MAKERS | NEWER)[kind](
                directory, ports[kind], list(parts[kind]), (tls_ports or {}).get(kind)
            )
            log = directory / "log"
            with log.open("wb") as output:
                processes.append(subprocess.Popen(command, stdout=output, stderr=output, cwd=directory))
            servers.append(Foreign(kind, ports[kind], log, text_of))
        yield servers
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            process.wait(20)
