"""BIND, Knot and NSD with a zone from a file, which transfer the zone to clients with a key."""

from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

import dns.tsig

from tests.dnspanel.transfer.running import listening, needed, running
from tests.dnspanel.transfer.sources.over_dns.test_axfr_in import named
from tests.ports import free_port


def _parts(key: dns.tsig.Key) -> tuple[str, str, str]:
    """Return the name, algorithm and base64 secret of a key."""
    return str(key.name), str(key.algorithm).rstrip("."), b64encode(key.secret).decode()


@contextmanager
def _bind(directory: Path, zone: str, text: str, key: dns.tsig.Key) -> Iterator[int]:
    name, algorithm, secret = _parts(key)
    (directory / "key.conf").write_text(f'key "{name}" {{ algorithm {algorithm}; secret "{secret}"; }};\n')
    with named(directory, {zone: text}, include="key.conf") as port:
        yield port


@contextmanager
def _knot(directory: Path, zone: str, text: str, key: dns.tsig.Key) -> Iterator[int]:
    needed("knotd")
    port, (name, algorithm, secret) = free_port(), _parts(key)
    (directory / "zone").write_text(text)
    conf = directory / "knot.conf"
    conf.write_text(
        f"server:\n    listen: 127.0.0.1@{port}\n    rundir: {directory}\n    user: root\n"
        f"key:\n  - id: {name}\n    algorithm: {algorithm}\n    secret: {secret}\n"
        f"database:\n    storage: {directory}\nlog:\n  - target: stderr\n    any: info\n"
        f"acl:\n  - id: panel\n    key: {name}\n    action: transfer\n"
        f"zone:\n  - domain: {zone}\n    storage: {directory}\n    file: zone\n    zonefile-sync: -1\n"
        "    zonefile-load: whole\n    journal-content: none\n    acl: panel\n    semantic-checks: off\n"
    )
    log = directory / "knot.log"
    with running(["knotd", "-c", conf], log, lambda: listening(port)() and "] loaded, serial" in log.read_text()):
        yield port


@contextmanager
def _nsd(directory: Path, zone: str, text: str, key: dns.tsig.Key) -> Iterator[int]:
    needed("nsd")
    port, (name, algorithm, secret) = free_port(), _parts(key)
    (directory / "zone").write_text(text)
    conf = directory / "nsd.conf"
    conf.write_text(
        f'server:\n    ip-address: 127.0.0.1@{port}\n    username: ""\n    zonesdir: "{directory}"\n'
        f'    database: ""\n    pidfile: "{directory}/nsd.pid"\n    xfrdfile: "{directory}/xfrd.state"\n'
        f'    xfrdir: "{directory}"\n    zonelistfile: "{directory}/zone.list"\n    server-count: 1\n'
        "remote-control:\n    control-enable: no\n"
        f'key:\n    name: "{name}"\n    algorithm: {algorithm}\n    secret: "{secret}"\n'
        f'zone:\n    name: "{zone}"\n    zonefile: "{directory}/zone"\n    provide-xfr: 127.0.0.1 "{name}"\n'
    )
    with running(["nsd", "-d", "-c", conf], directory / "nsd.log", listening(port)):
        yield port


Serving = Callable[[Path, str, str, dns.tsig.Key], AbstractContextManager[int]]
# Each entry runs a server with this zone text in a directory, and yields the port.
SERVERS: dict[str, Serving] = {"bind": _bind, "knot": _knot, "nsd": _nsd}
