"""lego with its provider `pdns`, as its documentation says to run it."""

import os
import subprocess
from pathlib import Path

from tests.clients.packages import go_programs
from tests.clients.pebble import Pebble
from tests.clients.services import LOOPBACK, Service


def obtain(*domains: str, directory: Path, service: Service, key: str, pebble: Pebble) -> Path:
    """Return the certificate that lego obtained for these domains; AssertionError with what it said if it did not.

    It waits until every name server of the service shows its challenge, and
    asks for a NOTIFY itself.
    """
    resolvers = [f"--dns.resolvers={LOOPBACK}:{port}" for port in service.dns_ports]
    command = [
        str(go_programs("lego") / "lego"),
        f"--path={directory}",
        f"--server={pebble.directory_url}",
        "--accept-tos",
        "--email=hostmaster@example.org",
        "--dns=pdns",
        *resolvers,
        "--dns.propagation-disable-ans",
        "--dns.propagation-rns",
        *(f"--domains={domain}" for domain in domains),
        "run",
    ]
    env = {
        **os.environ,
        "LEGO_CA_CERTIFICATES": str(pebble.ca_file),
        "PDNS_API_URL": service.url,
        "PDNS_API_KEY": key,
        "PDNS_POLLING_INTERVAL": "1",
    }
    done = subprocess.run(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=180)
    assert done.returncode == 0, done.stdout[-4000:]
    return directory / "certificates" / f"{domains[0].replace('*', '_')}.crt"
