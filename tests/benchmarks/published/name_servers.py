"""BIND, NSD and Knot on a loopback port, run in the foreground and configured as their makers recommend.

Each function writes the configuration into a directory and returns a server that is not running yet. `zones` is text in
the server's own format, at the end of its configuration. `zone_list` creates this text for zone files. The servers keep
running as the user who owns the directory.
"""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from tests import zonegen
from tests.benchmarks.serving import Server, zone_rrsets

CORES = len(os.sched_getaffinity(0))

# One thread per core is the default, and -n sets the same number. `minimal-responses yes` "can improve the
# performance of the server": https://bind9.readthedocs.io/en/v9.18/reference.html#namedconf-statement-minimal-responses
# An authoritative server should not do recursion: https://kb.isc.org/docs/bind-best-practices-authoritative
BIND_CONF = """\
options {{
    directory "{directory}";
    listen-on port {port} {{ 127.0.0.1; }};
    listen-on-v6 {{ none; }};
    recursion no;
    minimal-responses yes;
    dnssec-validation no;
    pid-file none;
    session-keyfile none;
    {options}
}};
controls {{ }};
logging {{
    channel file {{ file "{directory}/named.log"; severity warning; }};
    category default {{ file; }};
    {logging}
}};
"""
BIND_ZONE = 'zone "{zone}" {{ type primary; file "{file}"; }};\n'

# `server-count` is the number of cores and `reuseport` is on: https://nsd.docs.nlnetlabs.nl/en/latest/running/tuning.html
# Without a database on disk, NSD needs half of the memory: https://blog.nlnetlabs.nl/tuning-nsd-for-even-better-performance/
# Rate limits for clients are off, because the test would measure them instead of the server.
NSD_CONF = """\
server:
    ip-address: 127.0.0.1@{port}
    server-count: {cores}
    reuseport: yes
    minimal-responses: yes
    database: ""
    rrl-ratelimit: 0
    rrl-whitelist-ratelimit: 0
    username: ""
    zonesdir: "{directory}"
    zonelistfile: "{directory}/zone.list"
    xfrdfile: "{directory}/xfrd.state"
    xfrdir: "{directory}"
    pidfile: "{directory}/nsd.pid"
    logfile: "{directory}/nsd.log"
    {options}
remote-control:
    control-enable: yes
    control-interface: "{directory}/nsd.ctl"
"""
NSD_ZONE = 'zone:\n    name: "{zone}"\n    zonefile: "{file}"\n'

# One UDP worker per core is the default: https://www.knot-dns.cz/docs/3.2/html/reference.html#udp-workers
KNOT_CONF = """\
server:
    listen: 127.0.0.1@{port}
    rundir: "{directory}"
    udp-workers: {cores}
    {options}
control:
    listen: "{directory}/knot.sock"
database:
    storage: "{directory}/db"
log:
  - target: "{directory}/knot.log"
    any: warning
template:
  - id: default
    storage: "{directory}"
{sections}zone:
"""
KNOT_ZONE = '  - domain: "{zone}"\n    file: "{file}"\n'


def bind(
    directory: Path,
    *,
    port: int,
    zones: str,
    cores: int = CORES,
    options: str = "",
    logging: str = "",
    name: str = "BIND",
) -> Server:
    """Return a BIND server. `options` and `logging` are additional statements of the blocks with these names."""
    conf = BIND_CONF.format(directory=directory, port=port, options=options, logging=logging)
    return _server(name, port, directory, ("named", "-f", "-n", str(cores)), conf, zones)


def nsd(directory: Path, *, port: int, zones: str, cores: int = CORES, options: str = "", name: str = "NSD") -> Server:
    """Return an NSD server.

    `options` are lines of its section `server`. `nsd-control` uses the socket `nsd.ctl` in the directory.
    """
    conf = NSD_CONF.format(directory=directory, port=port, cores=cores, options=options)
    return _server(name, port, directory, ("nsd", "-d"), conf, zones)


def knot(
    directory: Path,
    *,
    port: int,
    zones: str,
    cores: int = CORES,
    options: str = "",
    sections: str = "",
    name: str = "Knot",
) -> Server:
    """Return a Knot server.

    `options` are lines of its section `server`. `sections` come before the zones, such as `remote` and `acl`. `knotc`
    uses the socket `knot.sock` in the directory.
    """
    conf = KNOT_CONF.format(directory=directory, port=port, cores=cores, options=options, sections=sections)
    return _server(name, port, directory, ("knotd",), conf, zones)


def zone_list(template: str, files: Mapping[str, Path]) -> str:
    """Return the configuration statements of these zones. `template` is BIND_ZONE, NSD_ZONE or another template."""
    return "".join(template.format(zone=zone.removesuffix("."), file=file) for zone, file in files.items())


def zone_files(directory: Path, zones: Iterable[str]) -> dict[str, Path]:
    """Return the paths where `tests.zonegen` writes the files of these zones, by zone."""
    return {zone: zonegen.zone_path(directory, zone) for zone in zones}


def write_zone_files(directory: Path, zones: int) -> dict[str, Path]:
    """Write the zones of `serving` as files in a new directory. Return the paths by zone."""
    directory.mkdir()
    contents = {rrsets[0].name: zonegen.zone_text(rrsets).encode() for rrsets in map(zone_rrsets, range(1, zones + 1))}
    zonegen.write_files(directory, contents.items())
    return zone_files(directory, contents)


def abridged(conf: str, zones: str) -> str:
    """Return the configuration with only the first of its zones."""
    lines = [line for line in conf.splitlines() if line.strip()]
    first, found, _ = zones.partition("\nzone" if zones.startswith("zone") else "\n  - domain")
    return "\n".join([*lines, first.rstrip(), *(["(and so on, for each zone)"] if found else [])]) + "\n"


def _server(name: str, port: int, directory: Path, command: tuple[str, ...], conf: str, zones: str) -> Server:
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / f"{command[0]}.conf"
    path.write_text(conf + zones)
    return Server(name, port, (*command, "-c", str(path)), directory, abridged(conf, zones))
