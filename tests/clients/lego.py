"""lego with its provider `pdns`, run as its documentation says."""

import os
import subprocess
from pathlib import Path

from tests.clients.packages import go_programs
from tests.clients.pebble import Pebble
from tests.clients.services import LOOPBACK, Service


def obtain(*domains: str, directory: Path, service: Service, key: str, pebble: Pebble) -> Path:
    """Let lego obtain a certificate for these domains, and return its path. Raise AssertionError with the output if it
    fails.

    lego waits until all name servers of the service have its challenge, and requests a NOTIFY through the API.
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
