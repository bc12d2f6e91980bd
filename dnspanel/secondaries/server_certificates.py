"""Parse the certificates of secondaries, as pasted by people. Pure."""

from cryptography.hazmat.primitives.asymmetric import rsa

from dnspanel.pasted_certificates import NO_CERTIFICATE, certificates_in, pem_of
from dnspanel.secondaries.errors import CertificateRefused
from dnspanel.texts import gettext

# A certificate and its successor.
MOST = 2
LONGEST = 16_000  # characters
_LEAST_RSA_BITS = 2048  # OpenSSL's minimum


def canonical_certificates(text: str) -> str:
    """Return the certificates in their stored form, or "" if the text is empty.

    Raise CertificateRefused if the text is invalid, has too many certificates or a private key, or if a key is weak.
    """
    if text.strip() and len(text) > LONGEST:
        raise CertificateRefused(gettext("Enter at most {longest:,} characters.").format(longest=LONGEST))
    try:
        found = certificates_in(
            text, beside_key=gettext("Enter only the certificate. The private key must stay on your server.")
        )
    except ValueError as exc:
        raise CertificateRefused(str(exc)) from exc
    try:
        keys = [each.public_key() for each in found]
    except ValueError as exc:
        raise CertificateRefused(gettext(NO_CERTIFICATE)) from exc
    if len(found) > MOST:
        raise CertificateRefused(
            gettext("Enter at most {most} certificates: the current one and the next one.").format(most=MOST)
        )
    if any(isinstance(key, rsa.RSAPublicKey) and key.key_size < _LEAST_RSA_BITS for key in keys):
        raise CertificateRefused(
            gettext("An RSA key must have at least {least_rsa_bits} bits.").format(least_rsa_bits=_LEAST_RSA_BITS)
        )
    return pem_of(found)
