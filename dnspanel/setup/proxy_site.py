"""nginx in front of the panel: the site, and a self-signed certificate if there is no other."""

import hashlib
import ssl
import subprocess
from ipaddress import ip_address
from pathlib import Path

from dnspanel.setup.setup_answers import Answers

NGINX = Path("/etc/nginx")
TEMPLATES = Path("/usr/lib/dnspanel/nginx")
TLS = Path("/etc/dnspanel/tls")
# The names in deploy/nginx/site.conf, which is an example for people too.
_EXAMPLE_HOST, _EXAMPLE_PAGES, _EXAMPLE_TLS = "dns.example.net", "/srv/dnspanel/deploy/nginx", "/etc/ssl/dnspanel"
_DAYS = 3650


class NoProxy(Exception):
    """An error: nginx refused its configuration or wasn't started. The text is the failed command and its output."""


def write_site(answers: Answers, *, nginx: Path = NGINX, templates: Path = TEMPLATES, tls: Path = TLS) -> list[str]:
    """Write a missing site, if needed with a self-signed certificate, and enable the site. Return what was done."""
    done = []
    site, link = nginx / "sites-available/dnspanel", nginx / "sites-enabled/dnspanel"
    if not site.exists():
        certificate, key = Path(answers.certificate), Path(answers.key)
        if not answers.certificate:
            certificate, key = tls / "fullchain.pem", tls / "privkey.pem"
            if not certificate.exists():
                _make_certificate(answers.host, certificate, key)
                done.append(f"self-signed certificate {certificate}")
        site.write_text(render_site((templates / "site.conf").read_text(), answers.host, certificate, key, templates))
        done.append(f"{site}")
    if not link.is_symlink():
        link.symlink_to(site)
        done.append(f"{link}")
    return done


def render_site(example: str, host: str, certificate: Path, key: Path, templates: Path) -> str:
    """Return the example site with this host, its certificate and the package's paths."""
    name = f"[{host}]" if ":" in host else host
    return (
        example.replace(f"{_EXAMPLE_TLS}/fullchain.pem", str(certificate))
        .replace(f"{_EXAMPLE_TLS}/privkey.pem", str(key))
        .replace(_EXAMPLE_PAGES, str(templates))
        .replace(_EXAMPLE_HOST, name)
    )


def reload_nginx() -> None:
    """Let nginx check and load its configuration, and start at boot. Raise NoProxy if a command for this fails."""
    for command in (
        ["nginx", "-t"],
        ["systemctl", "enable", "-q", "nginx"],
        ["systemctl", "reload-or-restart", "nginx"],
    ):
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise NoProxy(f"{' '.join(command)}: {done.stderr.strip()}")


def fingerprint_of(certificate: Path) -> str:
    """Return the SHA-256 fingerprint of the first certificate in a PEM file, as browsers show it."""
    pem = certificate.read_text().partition("-----END CERTIFICATE-----")
    digest = hashlib.sha256(ssl.PEM_cert_to_DER_cert(pem[0] + pem[1])).hexdigest().upper()
    return ":".join(digest[place : place + 2] for place in range(0, len(digest), 2))


def _make_certificate(host: str, certificate: Path, key: Path) -> None:
    try:
        name = f"IP:{ip_address(host)}"
    except ValueError:
        name = f"DNS:{host}"
    certificate.parent.mkdir(mode=0o700, exist_ok=True)
    kind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", str(_DAYS)]
    subject = ["-subj", "/CN=dnspanel", "-addext", f"subjectAltName={name}"]
    files = ["-keyout", str(key), "-out", str(certificate)]
    subprocess.run(["openssl", "req", "-x509", *kind, *subject, *files], check=True, capture_output=True, umask=0o077)
