"""Checks of files with secrets, and of the certificates that the panel shows to others."""

import os
import ssl
import stat
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from cryptography import x509
from django.conf import settings
from django.utils import timezone

from dnspanel.fleet.conditions.nodes import CERTIFICATE_NOW, CERTIFICATE_SOON
from dnspanel.monitoring.doctor.findings import Finding, finding
from dnspanel.texts import duration_text, gettext

# The files with secrets of an installation from the package, and of one by hand (docs/operate/install.md).
ENVIRONMENT_FILES = (Path("/etc/dnspanel/panel.env"), Path("/etc/dnspanel.env"))
NGINX_SITE = Path("/etc/nginx/sites-enabled/dnspanel")


def check_secret_files() -> Iterator[Finding]:
    """Yield each file with a secret that every user of this machine can read or write."""
    for path in secret_files():
        try:
            mode = stat.S_IMODE(path.stat().st_mode)
        except OSError:
            continue  # it doesn't exist, or is in a directory that this user can't enter
        if mode & (stat.S_IROTH | stat.S_IWOTH):
            message = gettext("Every user of this machine can read or change {path} (mode {mode}), which has a secret.")
            yield finding("panel.secret_file", message.format(path=path, mode=f"{mode:04o}"), str(path))


def secret_files() -> list[Path]:
    """Return the paths of environment files, of mounted secrets and of private keys. Some may not exist."""
    mounted = [value for name, value in os.environ.items() if name.startswith("PANEL_") and name.endswith("_FILE")]
    found = [*map(str, ENVIRONMENT_FILES), *mounted, settings.UPDATE_TLS_KEY]
    if os.access(NGINX_SITE, os.R_OK):
        words = (line.strip().rstrip(";").split() for line in NGINX_SITE.read_text().splitlines())
        found += [each[1] for each in words if each[:1] == ["ssl_certificate_key"] and len(each) == 2]
    return [Path(path) for path in sorted({*found} - {""})]


def check_gateway_certificate() -> Iterator[Finding]:
    """Check the gateway's own certificate: its expiry, and its key. Missing files are dnspanel.E016."""
    certificate, key = settings.UPDATE_TLS_CERTIFICATE, settings.UPDATE_TLS_KEY
    if not settings.UPDATE_TLS_PORT or not all(os.access(path, os.R_OK) for path in (certificate, key)):
        return
    try:
        ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain(certificate, key)
    except ssl.SSLError as exc:
        message = gettext("The gateway’s certificate and key can’t be used together: {reason}.")
        yield finding("gateway.tls_key", message.format(reason=exc.reason or exc))
        return
    found = x509.load_pem_x509_certificates(Path(certificate).read_bytes())[0]
    yield from expiry_of(found, "gateway", certificate, timezone.now())


def expiry_of(certificate: x509.Certificate, owner: str, place: str, now: datetime) -> Iterator[Finding]:
    """Yield a finding if the certificate has expired or expires soon. `owner` begins the id of the finding."""
    expires = certificate.not_valid_after_utc
    values = {"place": place, "time": duration_text(abs(expires - now)), "day": f"{expires:%Y-%m-%d}"}
    # Automatic renewal of short-lived certificates begins after two thirds of their lifetime.
    lifetime = expires - certificate.not_valid_before_utc
    if expires <= now:
        message = gettext("The certificate of {place} expired {time} ago, on {day}.")
        yield finding(f"{owner}.tls_expired", message.format(**values))
    elif expires - now < min(max(lifetime / 6, CERTIFICATE_NOW), CERTIFICATE_SOON):
        message = gettext("The certificate of {place} expires in {time}, on {day}.")
        yield finding(f"{owner}.tls_expires", message.format(**values))


def is_valid_for(host: str, certificate: x509.Certificate) -> bool:
    """Return True if the certificate is for this host name or address, or for all names in its domain (RFC 6125)."""
    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return False
    hosts = {name.lower() for name in names.get_values_for_type(x509.DNSName)}
    hosts |= {str(address) for address in names.get_values_for_type(x509.IPAddress)}
    return bool(hosts & {host.lower(), f"*.{host.lower().partition('.')[2]}"})
