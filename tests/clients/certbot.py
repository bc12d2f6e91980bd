"""certbot with its two PowerDNS plugins, run like an administrator would."""

import subprocess
from dataclasses import dataclass
from pathlib import Path

from tests.clients.packages import client_environment, python_programs
from tests.clients.pebble import Pebble
from tests.clients.services import Service

# certbot waits whole seconds only; a name server answers much sooner.
PROPAGATION_SECONDS = 1


@dataclass(frozen=True, slots=True)
class Plugin:
    """A certbot plugin: its package set, its name, and a template of its settings for URL and key."""

    requirements: str
    name: str
    settings: str


PLUGINS = {
    "certbot-dns-pdns": Plugin(
        "clients",
        "dns-pdns",
        "dns_pdns_endpoint={url}\ndns_pdns_api_key={key}\ndns_pdns_server_id=localhost\ndns_pdns_disable_notify=true\n",
    ),
    "certbot-dns-powerdns": Plugin(
        "clients-certbot1", "dns-powerdns", "dns_powerdns_api_url={url}\ndns_powerdns_api_key={key}\n"
    ),
}


def obtain(plugin: Plugin, *domains: str, directory: Path, service: Service, key: str, pebble: Pebble) -> Path:
    """Let certbot obtain a certificate for these domains, and return its path. Raise AssertionError with the output if
    it fails.
    """
    directory.mkdir(parents=True, exist_ok=True)
    credentials = directory / "credentials.ini"
    credentials.touch(mode=0o600)
    credentials.write_text(plugin.settings.format(url=service.url, key=key))
    places = [f"--{kind}-dir={directory / kind}" for kind in ("config", "work", "logs")]
    account = ["--non-interactive", "--agree-tos", "--register-unsafely-without-email", "--force-renewal"]
    command = [
        str(python_programs(plugin.requirements) / "certbot"),
        "certonly",
        *account,
        *places,
        "--server",
        pebble.directory_url,
        "--cert-name",
        "test",
        "--authenticator",
        plugin.name,
        f"--{plugin.name}-credentials",
        str(credentials),
        f"--{plugin.name}-propagation-seconds",
        str(PROPAGATION_SECONDS),
        *(word for domain in domains for word in ("-d", domain)),
    ]
    done = subprocess.run(
        command,
        env=client_environment(REQUESTS_CA_BUNDLE=str(pebble.ca_file)),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=180,
    )
    assert done.returncode == 0, f"{done.stdout[-3000:]}\n{_end_of_log(directory)}"
    return directory / "config" / "live" / "test" / "cert.pem"


def _end_of_log(directory: Path) -> str:
    log = directory / "logs" / "letsencrypt.log"
    return log.read_text()[-3000:] if log.exists() else ""
