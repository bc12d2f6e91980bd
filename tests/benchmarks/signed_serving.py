"""Signed answers on loopback: dnspanel's node with each kind of denial, the same zones unsigned, and Knot and BIND.

Knot and BIND serve the zones as signed by the node. Every server is queried with the DO bit, alternating, for the names
of `serving`, 40 % of them nonexistent. *Cold* is from the start of the server, before any signature was made. *Warm* is
after a slice in which most zones were queried.
"""

import contextlib
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from pathlib import Path

from replication.codec.dnssec import KeyObject, MetadataObject, Nsec3
from replication.compile import Row, compile_zone
from tests import zonegen
from tests.benchmarks import pdns_settings, serving
from tests.benchmarks.published import name_servers
from tests.benchmarks.say import say
from tests.benchmarks.serving import SHARED, Figures, Server
from tests.oracle import lmdb_file
from tests.ports import free_port
from tests.replication.panel import csk

SCHEMA = 4
WARM_SECONDS = 3
DENIALS: Mapping[str, Nsec3 | None] = {"nsec": None, "nsec3": Nsec3(), "narrow": Nsec3(narrow=True)}
# PowerDNS's metadata of the zone for each kind of denial.
METADATA: Mapping[str, Mapping[str, str]] = {
    "nsec3": {"NSEC3PARAM": "1 0 0 -"},
    "narrow": {"NSEC3PARAM": "1 0 0 -", "NSEC3NARROW": "1"},
}
SIGNED = replace(SHARED, do=True)
_TRANSFERS = {"disable-axfr": "no", "allow-axfr-ips": "127.0.0.0/8"}


@dataclass(frozen=True, slots=True)
class Measured:
    """The measurements of one round: from the server's start (cold), and afterwards (warm)."""

    cold: Figures
    warm: Figures


@dataclass(frozen=True, slots=True)
class Compared:
    """The measurements of each server, by round."""

    rounds: Mapping[str, Sequence[Measured]]

    def ratio(self, of: str, to: str, figure: str, state: str = "warm") -> float:
        """Return the median over the rounds of one server's figure divided by the other's in the same round."""
        ours, theirs = ([getattr(one, state) for one in self.rounds[name]] for name in (of, to))
        return serving.ratio(ours, theirs, figure)

    def say(self) -> None:
        for state in ("cold", "warm"):
            say(f"\nSigned answers (DO), signatures {state}: {SIGNED.words}")
            serving.say_figures({name: [getattr(one, state) for one in of] for name, of in self.rounds.items()})


def compare(directory: Path, *, zones: int, rounds: int, seconds: float) -> Compared:
    """Run each server once per round, alone on the machine. Create the directory, and remove it at the end."""
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    with contextlib.ExitStack() as stack:
        stack.callback(shutil.rmtree, directory, ignore_errors=True)
        sockets = Path(tempfile.mkdtemp(prefix="dp-"))
        stack.callback(shutil.rmtree, sockets, ignore_errors=True)
        port = free_port()
        questions = []
        for number in range(rounds + 1):
            questions.append(directory / f"questions-{number}")
            serving.write_questions(questions[-1], zones=zones, seed=number)

        def measured(server: Server, number: int) -> Measured:
            with server.running() as processes:
                ask = partial(serving.dnsperf, processes, port, load=SIGNED)
                cold = ask(questions[number], seconds=seconds)
                ask(questions[-1], seconds=WARM_SECONDS)
                return Measured(cold, ask(questions[number], seconds=seconds))

        servers = _servers(directory, sockets, port=port, zones=zones)
        return Compared(serving.in_turns(rounds, {server.name: partial(measured, server) for server in servers}))


def _servers(directory: Path, sockets: Path, *, port: int, zones: int) -> list[Server]:
    servers = [_ours(directory, sockets, "unsigned", port=port, zones=zones, is_signed=False)]
    for name, nsec3 in DENIALS.items():
        servers.append(_ours(directory, sockets, name, port=port, zones=zones, nsec3=nsec3))
    files = _presigned_files(servers[1], directory / "zones", zones)
    for make, template, name in (
        (name_servers.knot, name_servers.KNOT_ZONE, "Knot presigned"),
        (name_servers.bind, name_servers.BIND_ZONE, "BIND presigned"),
    ):
        listed = name_servers.zone_list(template, files)
        servers.append(make(directory / name.split()[0].lower(), port=port, zones=listed, name=name))
    return servers


def _ours(
    directory: Path,
    sockets: Path,
    name: str,
    *,
    port: int,
    zones: int,
    nsec3: Nsec3 | None = None,
    is_signed: bool = True,
) -> Server:
    """Return a pdns_server with dnspanel's configuration and an agent's files. Every zone has its own key."""
    compiled: dict[str, tuple[int, list[Row]]] = {}
    signing: list[KeyObject | MetadataObject] = []
    for number in range(1, zones + 1):
        zone = serving.zone_name(number)
        compiled[zone] = (number, compile_zone(zone, serving.zone_rrsets(number), nsec3=nsec3))
        if is_signed:
            signing += [MetadataObject(zone, kind, value) for kind, value in METADATA.get(name, {}).items()]
            signing.append(csk(zone))
    place = directory / name
    place.mkdir()
    lmdb_file.write(place / "panel.lmdb", SCHEMA, compiled, signing)
    settings = pdns_settings.ours(place / "panel.lmdb", sockets) | _TRANSFERS
    return serving.pdns_server(f"ours, {name}", place / "server", settings, port=port)


def _presigned_files(server: Server, directory: Path, zones: int) -> dict[str, Path]:
    """Transfer the zones, with signatures, from this server into files in a new directory. Return the files by zone."""
    directory.mkdir()
    wanted = [serving.zone_name(number) for number in range(1, zones + 1)]
    batch = directory / "batch"
    batch.write_text("".join(f"{zone} AXFR +noall +answer +onesoa\n" for zone in wanted))
    with server.running():
        command = ["dig", "@127.0.0.1", "-p", str(server.port), "-f", str(batch)]
        told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    zonegen.write_files(directory, ((zone, text.encode()) for zone, text in _by_zone(told)))
    return name_servers.zone_files(directory, wanted)


def _by_zone(transferred: str) -> Iterator[tuple[str, str]]:
    """Yield each zone and its text. A zone begins with its SOA."""
    lines = [line for line in transferred.splitlines() if line and not line.startswith(";")]
    begins = [at for at, line in enumerate(lines) if line.split()[3] == "SOA"]
    for begin, end in pairwise([*begins, len(lines)]):
        yield lines[begin].split()[0], "\n".join(lines[begin:end]) + "\n"


def signing_costs(compared: Compared) -> dict[str, float]:
    """Return the ratios for the bench `dnssec`. Below 1, dnspanel needs less processor time per answer."""
    found = {
        "signed_qps_vs_unsigned": compared.ratio("ours, nsec", "ours, unsigned", "qps"),
        "signed_cpu_vs_knot": compared.ratio("ours, nsec", "Knot presigned", "cpu_us"),
        "signed_cpu_vs_bind": compared.ratio("ours, nsec", "BIND presigned", "cpu_us"),
    }
    for name in DENIALS:
        for state in ("warm", "cold"):
            found[f"{name}_{state}_qps_vs_unsigned"] = compared.ratio(f"ours, {name}", "ours, unsigned", "qps", state)
            found[f"{name}_{state}_cpu_vs_unsigned"] = compared.ratio(
                f"ours, {name}", "ours, unsigned", "cpu_us", state
            )
    return found
