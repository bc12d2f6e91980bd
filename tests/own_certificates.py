"""Self-signed certificates, as an operator makes them for their own server."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID


@dataclass(frozen=True, slots=True)
class OwnCertificate:
    """A certificate and its key, both in PEM."""

    certificate: str
    key: str

    @property
    def der(self) -> bytes:
        return x509.load_pem_x509_certificate(self.certificate.encode()).public_bytes(Encoding.DER)


def own_certificate(
    name: str = "ns.partner.test", *, rsa_bits: int = 0, begins: datetime | None = None, days: int = 30
) -> OwnCertificate:
    """Make a self-signed certificate. By default, its key is elliptic (else RSA) and it has been valid since yesterday.

    `name` is a host name or an IP address.
    """
    key = rsa.generate_private_key(65537, rsa_bits) if rsa_bits else ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    begins = begins or datetime.now(UTC) - timedelta(days=1)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(begins)
        .not_valid_after(begins + timedelta(days=days))
        .add_extension(x509.SubjectAlternativeName([_general_name(name)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return OwnCertificate(certificate.public_bytes(Encoding.PEM).decode(), pem.decode())


def _general_name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(name))
    except ValueError:
        return x509.DNSName(name)
