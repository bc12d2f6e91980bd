"""PowerDNS Lightning Stream: snapshots of LMDB files in a storage that all nodes read.

Three nodes as in its makers' demonstration: two write snapshots and read those of others, the third only reads. Each
node is a `pdns_server` with its own LMDB and a `lightningstream`. A change is a PATCH to the API of the first node. All
three nodes answer with it after the other two have merged its snapshot. The storage is a local directory, which is at
least as fast as any object storage over a network.

PowerDNS supports Lightning Stream since 4.8, so it runs in a root of a newer Debian, like the servers of some tests.
The program `lightningstream` is not fetched or built here. Without it there is no result.
"""

import contextlib
import http.client
import json
import re
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path

from tests.benchmarks import pdns_settings, serving
from tests.benchmarks.published import fleets
from tests.benchmarks.published.fleets import NODES, Fleet
from tests.benchmarks.published.propagation_estate import Estate
from tests.benchmarks.serving import CACHES_OFF, Processes, Server
from tests.oracle import powerdns
from tests.ports import free_port

LABEL = "Lightning Stream"
SUITE = "trixie"
SCHEMA = 5  # of the PowerDNS that it uses
START_SECONDS = 120.0
API_KEY = "bench"
_SERIALS = count(4_000_000_000)
_READ = re.compile(r" compressed_size_bytes=(\d+) ")

# Exactly the lines of https://doc.powerdns.com/lightningstream/latest/pdns-auth-installation/, with PowerDNS's default
# for the size of the map, which the estate needs.
BACKEND = {
    "launch": "lmdb",
    "lmdb-shards": "1",
    "lmdb-lightning-stream": "yes",
    "lmdb-map-size": "16000",
    "zone-cache-refresh-interval": "0",
    "zone-metadata-cache-ttl": "0",
}
# From the same page, with a directory as the storage, and with the options that the full example highly recommends.
CONFIGURATION = """\
instance: {instance}
{polls}lmdbs:
  main:
    path: {lmdb}
    schema_tracks_changes: true
    options:
      no_subdir: true
      create: true
      map_size: 16000MB
  shard:
    path: {lmdb}-0
    schema_tracks_changes: true
    options:
      no_subdir: true
      create: true
      map_size: 16000MB
storage:
  type: fs
  options:
    root_path: {storage}
  cleanup:
    enabled: true
    interval: 5m
    must_keep_interval: 10m
    remove_old_instances_interval: 168h
"""
# Both default to 1 s. Lightning Stream refuses to start with lower values than these.
SHORTEST_POLLS = "lmdb_poll_interval: 100ms\nstorage_poll_interval: 100ms\n"
DESCRIPTION = (
    "Lightning Stream {version} with PowerDNS {powerdns} runs as in the demonstration of its makers. The first of "
    "three nodes gets each change. After a change, Lightning Stream writes a snapshot of the whole LMDB file, which "
    "each node reads. The storage is a local directory, which is at least as fast as object storage. By "
    "default, Lightning Stream checks for changes and snapshots once per second. 100 ms is the shortest interval "
    "that it accepts. *As documented* means the default interval and default caches."
)


@dataclass(frozen=True, slots=True)
class Variant:
    """One configuration: PowerDNS's caches, and Lightning Stream's polling interval."""

    label: str
    caches: Mapping[str, str]
    polls: str = ""


DOCUMENTED = Variant(f"{LABEL}, as documented", {})
UNCACHED = (
    Variant(f"{LABEL}, caches off", CACHES_OFF),
    Variant(f"{LABEL}, caches off, checks every 100 ms", CACHES_OFF, SHORTEST_POLLS),
)


class Unavailable(Exception):
    """Lightning Stream cannot be measured here. The message is a sentence for the page."""


class LightningStream:
    """Lightning Stream with a PowerDNS that supports it. Raise Unavailable if a program is missing."""

    def __init__(self, program: Path | None) -> None:
        if program is None:
            raise Unavailable("there is no program `lightningstream` on the PATH of this machine.")
        try:
            found = subprocess.run([program, "version"], capture_output=True, text=True, check=True)
            self._powerdns = powerdns.of_suite(SUITE)
        except (OSError, subprocess.CalledProcessError, powerdns.Unavailable) as exc:
            raise Unavailable(f"{exc}.") from exc
        self._program = program.resolve()
        self.description = DESCRIPTION.format(version=found.stdout.strip(), powerdns=self._powerdns.version)
        self.configuration: dict[str, str] = {}

    @contextlib.contextmanager
    def fleet(self, variant: Variant, estate: Estate) -> Iterator[Fleet]:
        """Start three nodes with the estate, and yield them as a fleet when they are idle."""
        with self._powerdns.place("dp") as place, contextlib.ExitStack() as stack:
            directories = [place.directory / f"node{number}" for number in range(1, NODES + 1)]
            (place.directory / "storage").mkdir()
            servers = [self._server(place, directory, variant, estate) for directory in directories]
            processes = [stack.enter_context(server.running()) for server in servers]
            processes += [stack.enter_context(self._streaming(directory, variant)) for directory in directories]
            fleets.settle(*processes)
            self.configuration |= {
                f"{LABEL}, PowerDNS": servers[0].configuration,
                LABEL: (directories[0] / "lightningstream.yaml").read_text(),
            }
            yield self._fleet(variant, directories, servers)

    def _server(self, place: powerdns.Place, directory: Path, variant: Variant, estate: Estate) -> Server:
        directory.mkdir()
        estate.lmdb_for_sharing(directory / "pdns.lmdb", SCHEMA)
        inside = Path(place.seen(directory))
        backend = {**BACKEND, "lmdb-filename": str(inside / "pdns.lmdb")}
        settings = pdns_settings.recommended(backend, inside, cores=1) | dict(variant.caches) | _api()
        server = serving.pdns_server(directory.name, directory, settings, port=free_port())
        command = self._powerdns.command("pdns_server", f"--config-dir={inside}")
        return replace(server, command=tuple(command), first=f"www.{estate.zones[-1]}", start_seconds=START_SECONDS)

    @contextlib.contextmanager
    def _streaming(self, directory: Path, variant: Variant) -> Iterator[Processes]:
        path = directory / "lightningstream.yaml"
        path.write_text(
            CONFIGURATION.format(
                instance=directory.name,
                polls=variant.polls,
                lmdb=directory / "pdns.lmdb",
                storage=directory.parent / "storage",
            )
        )
        mode = "receive" if directory.name == f"node{NODES}" else "sync"
        with _log(directory).open("wb") as out:
            process = subprocess.Popen([self._program, f"--config={path}", mode], stdout=out, stderr=subprocess.STDOUT)
        try:
            yield Processes(process.pid)
        finally:
            process.kill()
            process.wait()

    @staticmethod
    def _fleet(variant: Variant, directories: list[Path], servers: list[Server]) -> Fleet:
        api_port = int(serving.settings_in(servers[0].configuration)["webserver-port"])
        return Fleet(
            label=variant.label,
            nodes=[("127.0.0.1", server.port) for server in servers],
            change=lambda zone, address: _patch(api_port, zone, address),
            bytes_sent=lambda: float(sum(map(int, _READ.findall(_log(directories[1]).read_text())))),
            lmdb=directories[1] / "pdns.lmdb-0",
        )


def _api() -> dict[str, str]:
    return {
        "webserver": "yes",
        "webserver-address": "127.0.0.1",
        "webserver-port": str(free_port()),
        "webserver-allow-from": "127.0.0.1",
        "api": "yes",
        "api-key": API_KEY,
    }


def _log(directory: Path) -> Path:
    return directory / "lightningstream.log"


def _patch(port: int, zone: str, address: str) -> None:
    """Change one address and the zone's serial with a PATCH."""
    soa = f"ns1.provider.test. hostmaster.provider.test. {next(_SERIALS)} 10800 3600 604800 3600"
    changes = [
        {
            "name": name,
            "type": kind,
            "ttl": 300,
            "changetype": "REPLACE",
            "records": [{"content": content, "disabled": False}],
        }
        for name, kind, content in ((f"www.{zone}", "A", address), (zone, "SOA", soa))
    ]
    with contextlib.closing(http.client.HTTPConnection("127.0.0.1", port, timeout=fleets.PATIENCE)) as connection:
        path = f"/api/v1/servers/localhost/zones/{zone}"
        connection.request("PATCH", path, json.dumps({"rrsets": changes}), {"X-API-Key": API_KEY})
        response = connection.getresponse()
        if response.status != http.HTTPStatus.NO_CONTENT:
            raise RuntimeError(f"PATCH of {zone}: {response.status} {response.read()!r}")
