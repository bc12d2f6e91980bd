"""Form layouts for record types with certificates, keys and fingerprints. Pure."""

from dnspanel.texts import gettext_lazy as _
from dnspanel.zones.typed.fields import Choices, Digest, Field, Kind, Layout, layout, u8, u16
from replication.dns import rdtypes

_ALGORITHMS: Choices = (
    ("8", _("8: RSA/SHA-256")),
    ("10", _("10: RSA/SHA-512")),
    ("13", _("13: ECDSA P-256/SHA-256")),
    ("14", _("14: ECDSA P-384/SHA-384")),
    ("15", "15: Ed25519"),
    ("16", "16: Ed448"),
)
_DIGESTS: Choices = (("2", "2: SHA-256"), ("4", "4: SHA-384"), ("1", _("1: SHA-1 (not for new records)")))
_MATCHINGS: Choices = (("1", _("1: SHA-256 hash")), ("2", _("2: SHA-512 hash")), ("0", _("0: full data")))
_SELECTORS: Choices = (("1", _("1: the public key")), ("0", _("0: the whole certificate")))
_USAGES: Choices = (
    ("3", _("3: this server’s certificate, from any issuer (DANE-EE)")),
    ("2", _("2: a private authority (DANE-TA)")),
    ("1", _("1: this certificate, from a public authority (PKIX-EE)")),
    ("0", _("0: this public authority (PKIX-TA)")),
)
_CERT_ALGORITHMS: Choices = (
    ("0", "0: none"),
    ("RSASHA256", "RSASHA256"),
    ("RSASHA512", "RSASHA512"),
    ("ECDSAP256SHA256", "ECDSAP256SHA256"),
    ("ED25519", "ED25519"),
)
_SHA = {"1": (20, "SHA-1"), "2": (32, "SHA-256")}
_MATCHED = Digest("matching", "certificate", {"1": (32, "SHA-256"), "2": (64, "SHA-512")})


def _hex(
    name: str, label: str, help_text: str = _("Enter hexadecimal digits. Spaces and colons are ignored.")
) -> Field:
    return Field(name, label, Kind.HEX, help_text)


def _certificate_layout(type: int, purpose: str) -> Layout:
    return layout(
        type,
        purpose,
        u8("usage", _("Usage"), _("Choose how clients verify the certificate."), choices=_USAGES, default="3"),
        u8("selector", _("Selector"), _("Choose what clients compare."), choices=_SELECTORS, default="1"),
        u8("matching", _("Matching type"), _("Choose how clients compare the data."), choices=_MATCHINGS, default="1"),
        _hex("certificate", _("Certificate data")),
        digest=_MATCHED,
    )


def _delegation_signer(type: int, purpose: str) -> Layout:
    return layout(
        type,
        purpose,
        u16("tag", _("Key tag")),
        u8("algorithm", _("Algorithm"), _("Choose the key algorithm."), choices=_ALGORITHMS, default="13"),
        u8("digest_type", _("Digest type"), choices=_DIGESTS, default="2"),
        _hex("digest", _("Digest")),
        digest=Digest("digest_type", "digest", _SHA | {"4": (48, "SHA-384")}),
    )


TLSA = _certificate_layout(rdtypes.TLSA, _("A TLS server’s certificate, at a name such as _443._tcp.www."))
SMIMEA = _certificate_layout(rdtypes.SMIMEA, _("A certificate for an email address."))
SSHFP = layout(
    rdtypes.SSHFP,
    _("The fingerprint of an SSH server’s key."),
    u8(
        "algorithm",
        _("Algorithm"),
        choices=(("4", "4: Ed25519"), ("3", "3: ECDSA"), ("1", "1: RSA"), ("6", "6: Ed448"), ("2", "2: DSA")),
        default="4",
    ),
    u8("fingerprint_type", _("Fingerprint type"), choices=(("2", "2: SHA-256"), ("1", "1: SHA-1")), default="2"),
    _hex("fingerprint", _("Fingerprint")),
    digest=Digest("fingerprint_type", "fingerprint", _SHA),
)
DS = _delegation_signer(rdtypes.DS, _("The key that signs the child zone at this name."))
CDS = _delegation_signer(rdtypes.CDS, _("The DS that the parent zone should have."))
CERT = layout(
    rdtypes.CERT,
    _("A certificate or its location."),
    Field(
        "kind",
        _("Type"),
        Kind.WORD,
        choices=(
            ("PKIX", "PKIX: X.509"),
            ("PGP", _("PGP: OpenPGP")),
            ("SPKI", "SPKI"),
            ("IPKIX", _("IPKIX: URL of an X.509 certificate")),
            ("IPGP", _("IPGP: fingerprint and URL of an OpenPGP key")),
            ("URI", _("URI: private format with a URI")),
            ("OID", _("OID: private format with an OID")),
        ),
        default="PKIX",
    ),
    u16("tag", _("Key tag"), default="0"),
    Field(
        "algorithm", _("Algorithm"), Kind.WORD, _("Choose the key algorithm."), choices=_CERT_ALGORITHMS, default="0"
    ),
    Field("certificate", _("Certificate"), Kind.BASE64, _("Enter Base64 or a PEM block.")),
)
