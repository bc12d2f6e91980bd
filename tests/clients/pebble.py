"""Pebble, the ACME server for tests of Let's Encrypt clients. It checks challenges at a service's name server."""

import ipaddress
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.clients.packages import go_programs
from tests.clients.services import LOOPBACK, Service
from tests.dnspanel.transfer.running import listening, running
from tests.ports import free_port

# No pause before validation, and no reuse of authorizations, so each order has a new challenge. All nonces are
# accepted: by default Pebble refuses one in twenty, and certbot fails after two refusals in a row.
IMPATIENT = {"PEBBLE_VA_NOSLEEP": "1", "PEBBLE_AUTHZREUSE": "0", "PEBBLE_WFE_NONCEREJECT": "0"}


@dataclass(frozen=True, slots=True)
class Pebble:
    """A running ACME server, and the certificate that its clients trust."""

    directory_url: str
    ca_file: Path


@contextmanager
def pebble(directory: Path, service: Service) -> Iterator[Pebble]:
    """Run an ACME server that queries the service's last name server. Raise NotInstalled without the package."""
    ports = free_port(), free_port()
    certificate, key = _certificate(directory)
    config = {
        "listenAddress": f"{LOOPBACK}:{ports[0]}",
        "managementListenAddress": f"{LOOPBACK}:{ports[1]}",
        "certificate": str(certificate),
        "privateKey": str(key),
        "httpPort": 5002,
        "tlsPort": 5001,
        "profiles": {"default": {"description": "of the test", "validityPeriod": 86400}},
        "retryAfter": {"authz": 1, "order": 1},
    }
    (directory / "pebble.json").write_text(json.dumps({"pebble": config}))
    command = [go_programs("pebble") / "pebble", "-config", directory / "pebble.json"]
    command += ["-dnsserver", f"{LOOPBACK}:{service.dns_ports[-1]}"]
    with running(_with(IMPATIENT, command), directory / "pebble.log", listening(*ports)):
        yield Pebble(f"https://{LOOPBACK}:{ports[0]}/dir", certificate)


def _with(variables: Mapping[str, str], command: list[str | Path]) -> list[str | Path]:
    return ["env", *(f"{name}={value}" for name, value in variables.items()), *command]


def names_in(certificate: Path) -> set[str]:
    """Return the DNS names in a certificate."""
    found = x509.load_pem_x509_certificate(certificate.read_bytes())
    names = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    return set(names.get_values_for_type(x509.DNSName))


def _certificate(directory: Path) -> tuple[Path, Path]:
    """Create a self-signed certificate for the loopback address. Return its path and the path of its key."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "pebble of a test")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address(LOOPBACK))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    paths = directory / "pebble.pem", directory / "pebble.key"
    paths[0].write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    kept = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    paths[1].write_bytes(key.private_bytes(*kept))
    return paths
