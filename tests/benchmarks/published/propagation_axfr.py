"""NOTIFY and zone transfers from a PowerDNS primary to three secondaries: PowerDNS, Knot, NSD, BIND.

The primary (https://doc.powerdns.com/authoritative/modes-of-operation.html#primary-operation) has the zones in
PostgreSQL. After a change is committed there, the zone is purged from the primary's caches, and a command makes it send
a NOTIFY. PowerDNS checks its queue of notifications once a second. So each fleet is measured twice: as documented, with
`pdns_control notify`, and with NOTIFY packets that the benchmark sends immediately.
"""

import contextlib
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from replication.agent.updates.purge import ControlSocket
from tests.benchmarks import pdns_settings, serving
from tests.benchmarks.answers import Address
from tests.benchmarks.published import fleets, name_servers
from tests.benchmarks.published.fleets import NODES, Fleet
from tests.benchmarks.published.propagation_estate import Estate
from tests.benchmarks.serving import Processes, Server
from tests.ports import free_port

START_SECONDS = 600.0  # for a server that reads all zone files

# An empty `only-notify`: PowerDNS notifies only the addresses in `also-notify`, and looks up no names of NS records.
# https://doc.powerdns.com/authoritative/settings.html#setting-also-notify
PRIMARY = {"primary": "yes", "only-notify": ""}
SECONDARY = {"secondary": "yes"}

# `serial-query-rate` limits how fast BIND checks zones. With the default, 20, it does so only twice a second.
# https://bind9.readthedocs.io/en/v9.18/reference.html#namedconf-statement-serial-query-rate
# BIND notifies nobody. The files are text, because it did not write them.
BIND_OPTIONS = "serial-query-rate 1000;\n    notify no;\n    masterfile-format text;"
BIND_ZONE = """\
zone "{{zone}}" {{{{ type secondary; file "{{file}}"; primaries port {port} {{{{ 127.0.0.1; }}}}; }}}};
"""

# The three nodes share their files, so NSD must not write them. Reloads need not be a second apart.
# https://nsd.docs.nlnetlabs.nl/en/latest/manpages/nsd.conf.html
NSD_OPTIONS = "zonefiles-write: 0\n    xfrd-reload-timeout: 0"
NSD_ZONE = """\
zone:
    name: "{{zone}}"
    zonefile: "{{file}}"
    allow-notify: 127.0.0.1 NOKEY
    request-xfr: 127.0.0.1@{port} NOKEY
"""

# The three nodes share their files, so Knot DNS must not write them.
# https://www.knot-dns.cz/docs/3.2/html/configuration.html#secondary-zone
KNOT_SECTIONS = """\
remote:
  - id: primary
    address: 127.0.0.1@{port}
acl:
  - id: notify
    address: 127.0.0.1
    action: notify
template:
  - id: secondary
    master: primary
    acl: notify
    zonefile-sync: -1
"""
KNOT_ZONE = name_servers.KNOT_ZONE + "    template: secondary\n"

FIRST_PRIMARY_ZONE = name_servers.NSD_ZONE + "    provide-xfr: 127.0.0.1 NOKEY\n"


class Secondaries:
    """Three secondaries of the same kind for one estate. `sockets` is a directory with a short path."""

    def __init__(self, estate: Estate, sockets: Path) -> None:
        self._estate, self._sockets = estate, sockets
        self._port, self._nodes = estate.primary_port, estate.directory / "nodes"
        self.configuration: dict[str, str] = {}
        self.kinds: dict[str, Callable[[Path, int], Server]] = {
            "PowerDNS (LMDB)": self._powerdns,
            "Knot": self._knot,
            "NSD": self._nsd,
            "BIND": self._bind,
        }

    @contextlib.contextmanager
    def fleets(self, kind: str) -> Iterator[list[Fleet]]:
        """Run three secondaries with a primary. Once idle, yield a fleet for each way of sending a NOTIFY."""
        with contextlib.ExitStack() as stack:
            stack.callback(shutil.rmtree, self._nodes, ignore_errors=True)
            servers = [self._server(self.kinds[kind], number) for number in range(1, NODES + 1)]
            primary = self._primary([("127.0.0.1", server.port) for server in servers])
            self.configuration |= {
                "AXFR, the primary": primary.configuration,
                f"AXFR, {kind}": servers[0].configuration,
            }
            processes = [*self._refreshed(stack, servers), stack.enter_context(primary.running())]
            fleets.settle(*processes)
            yield self._fleets(kind, primary, servers)

    def _refreshed(self, stack: contextlib.ExitStack, servers: Sequence[Server]) -> list[Processes]:
        """Start the servers and let them refresh every zone once, because some do so when they start.

        A faster primary than PowerDNS, with the same zones and at the same port, answers these refreshes. It is then
        replaced.
        """
        with self._first_primary().running() as primary:
            processes = [stack.enter_context(server.running()) for server in servers]
            fleets.settle(primary, *processes)
        return processes

    def _first_primary(self) -> Server:
        zones = self._zone_list(FIRST_PRIMARY_ZONE, self._estate.files)
        directory = self._sockets / "first"
        return self._with_all(name_servers.nsd(directory, port=self._port, zones=zones, cores=1))

    def _server(self, kind: Callable[[Path, int], Server], number: int) -> Server:
        return self._with_all(kind(self._sockets / f"{kind.__name__.strip('_')}{number}", free_port()))

    def _with_all(self, server: Server) -> Server:
        return replace(server, first=f"www.{self._estate.zones[-1]}", start_seconds=START_SECONDS)

    def _fleets(self, kind: str, primary: Server, servers: Sequence[Server]) -> list[Fleet]:
        control = ControlSocket(str(primary.directory / "pdns.controlsocket"))
        nodes = [("127.0.0.1", server.port) for server in servers]

        def change(zone: str, address: str) -> None:
            self._estate.tables.change(zone=zone, name=f"www.{zone}", address=address)
            control.send(f"purge {zone}$")

        def change_and_queue(zone: str, address: str) -> None:
            change(zone, address)
            control.send(f"notify {zone}")

        def change_and_notify(zone: str, address: str) -> None:
            change(zone, address)
            fleets.notify(zone, nodes)

        documented = Fleet(
            label=f"AXFR to {kind}, pdns_control notify",
            nodes=nodes,
            change=change_and_queue,
            bytes_sent=lambda: bytes_answered(control) / NODES,
            lmdb=self._nodes / servers[0].directory.name / "pdns.lmdb-0" if kind.startswith("PowerDNS") else None,
        )
        return [documented, replace(documented, label=f"AXFR to {kind}, NOTIFY at once", change=change_and_notify)]

    def _primary(self, nodes: Sequence[Address]) -> Server:
        directory = self._sockets / "primary"
        backend = pdns_settings.gpgsql(self._estate.tables.url)
        also = {"also-notify": ",".join(f"{host}:{port}" for host, port in nodes)}
        settings = pdns_settings.recommended(backend, directory, cores=1) | PRIMARY | also
        return self._with_all(serving.pdns_server("primary", directory, settings, port=self._port))

    def _powerdns(self, directory: Path, port: int) -> Server:
        lmdb = self._files(directory) / "pdns.lmdb"
        self._estate.secondary_lmdb(lmdb)
        backend = {"launch": "lmdb", "lmdb-filename": str(lmdb), "lmdb-shards": "1"}
        settings = pdns_settings.recommended(backend, directory, cores=1) | SECONDARY
        return serving.pdns_server(directory.name, directory, settings, port=port)

    def _knot(self, directory: Path, port: int) -> Server:
        zones = self._zone_list(KNOT_ZONE, self._estate.files)
        sections = KNOT_SECTIONS.format(port=self._port)
        return name_servers.knot(directory, port=port, zones=zones, cores=1, sections=sections)

    def _nsd(self, directory: Path, port: int) -> Server:
        zones = self._zone_list(NSD_ZONE.format(port=self._port), self._estate.files)
        return name_servers.nsd(directory, port=port, zones=zones, cores=1, options=NSD_OPTIONS)

    def _bind(self, directory: Path, port: int) -> Server:
        """Return BIND with separate links to the zone files, because BIND rewrites a zone's file after a transfer."""
        files = self._files(directory)
        for zone in self._estate.zones:
            os.link(self._estate.files / f"{zone}zone", files / f"{zone}zone")
        zones = self._zone_list(BIND_ZONE.format(port=self._port), files)
        return name_servers.bind(directory, port=port, zones=zones, cores=1, options=BIND_OPTIONS)

    def _files(self, directory: Path) -> Path:
        """Create and return a node's folder. It is near the estate's files, so that hard links to them work."""
        files = self._nodes / directory.name
        files.mkdir(parents=True)
        return files

    def _zone_list(self, template: str, files: Path) -> str:
        return name_servers.zone_list(template, name_servers.zone_files(files, self._estate.zones))


def bytes_answered(control: ControlSocket) -> int:
    """Return the bytes of all DNS answers of the primary, including transfers."""
    return sum(int(control.send(f"show {protocol}-answers-bytes")) for protocol in ("tcp", "udp"))
