"""The panel's TLS certificate: self-signed, the operator's own, or one of a certificate authority with ACME (certbot).

nginx always reads tls/fullchain.pem and tls/privkey.pem. For a certificate that is somewhere else, both are links.
"""

import subprocess
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes

from dnspanel.setup.errors import SetupFailed
from dnspanel.setup.setup_answers import ACME, Answers

TLS = Path("/etc/dnspanel/tls")
# Below the directory of web's socket, which nginx can enter.
WEBROOT = Path("/run/dnspanel/acme")
ISSUED = Path("/etc/letsencrypt/live/dnspanel")
NAMES = ("fullchain.pem", "privkey.pem")
_SELF_SIGNED = "CN=dnspanel"
_DAYS = 3650


def is_from_acme(tls: Path = TLS) -> bool:
    """Return True if the panel's certificate is a link to the one that certbot renews."""
    return (tls / NAMES[0]).is_symlink() and (tls / NAMES[0]).readlink().parent == ISSUED


def place_certificate(answers: Answers, tls: Path = TLS) -> list[str]:
    """Link the operator's certificate, or make a self-signed one if there is none for this host. Return what was done.

    With ACME, a missing certificate is self-signed too, because nginx needs one before it can prove its name.
    """
    present = tls / NAMES[0]
    if answers.certificate not in ("", ACME):
        return _link((Path(answers.certificate), Path(answers.key)), tls)
    if present.exists():
        found = _load(present)
        if found.issuer.rfc4514_string() != _SELF_SIGNED or _is_for(found, answers.host):
            return []
    _make_certificate(answers.host, tls)
    return [f"self-signed certificate {present}"]


def obtain_certificate(answers: Answers, tls: Path = TLS) -> list[str]:
    """Get a certificate with certbot, unless there is one for this host, and link it. Return what was done.

    nginx has to answer on port 80. From then on, certbot's timer renews the certificate. Raise SetupFailed.
    """
    done = []
    issued = ISSUED / NAMES[0]
    if not (issued.exists() and _is_for(_load(issued), answers.host)):
        WEBROOT.mkdir(exist_ok=True)
        place = ["--webroot", "--webroot-path", str(WEBROOT), "--cert-name", ISSUED.name, "--domain", answers.host]
        contact = ["--email", answers.mail] if answers.mail else ["--register-unsafely-without-email"]
        server = ["--server", answers.acme_server] if answers.acme_server else []
        options = [
            "--non-interactive",
            "--agree-tos",
            "--renew-with-new-domains",
            "--deploy-hook",
            "systemctl reload nginx",
        ]
        _certbot("certonly", *place, *contact, *server, *options)
        done.append(f"certificate for {answers.host}")
    return done + _link((issued, ISSUED / NAMES[1]), tls)


def fingerprint_of(certificate: Path) -> str:
    """Return the SHA-256 fingerprint of the first certificate in a PEM file, as browsers show it."""
    return _load(certificate).fingerprint(hashes.SHA256()).hex(":").upper()


def _certbot(*words: str) -> None:
    try:
        done = subprocess.run(["certbot", *words], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    except FileNotFoundError as exc:
        raise SetupFailed("certbot is not installed: apt install certbot") from exc
    if done.returncode:
        raise SetupFailed("\n".join(["certbot:", *(done.stdout + done.stderr).strip().splitlines()[-12:]]))


def _link(files: tuple[Path, Path], tls: Path) -> list[str]:
    """Make both names links to these files, and return the changed ones."""
    tls.mkdir(mode=0o700, exist_ok=True)
    done = []
    for name, file in zip(NAMES, files, strict=True):
        link, partial = tls / name, tls / f"{name}.part"
        if not (link.is_symlink() and link.readlink() == file):
            partial.unlink(missing_ok=True)
            partial.symlink_to(file)
            partial.replace(link)
            done.append(f"{link} is {file}")
    return done


def _is_for(certificate: x509.Certificate, host: str) -> bool:
    """Return True if the host is one of the certificate's names and addresses."""
    try:
        name: x509.GeneralName = x509.IPAddress(ip_address(host))
    except ValueError:
        name = x509.DNSName(host.lower())
    try:
        return name in certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return False


def _load(path: Path) -> x509.Certificate:
    return x509.load_pem_x509_certificate(path.read_bytes())


def _make_certificate(host: str, tls: Path) -> None:
    try:
        name = f"IP:{ip_address(host)}"
    except ValueError:
        name = f"DNS:{host}"
    tls.mkdir(mode=0o700, exist_ok=True)
    certificate, key = (tls / name for name in NAMES)
    for old in (certificate, key):
        old.unlink(missing_ok=True)
    kind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", str(_DAYS)]
    subject = ["-subj", f"/{_SELF_SIGNED}", "-addext", f"subjectAltName={name}"]
    files = ["-keyout", str(key), "-out", str(certificate)]
    subprocess.run(["openssl", "req", "-x509", *kind, *subject, *files], check=True, capture_output=True, umask=0o077)
