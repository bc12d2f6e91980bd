"""Form layouts for record types with certificates, keys and fingerprints. Pure."""

from dnspanel.texts import gettext_lazy
from dnspanel.zones.typed.fields import Choices, Digest, Field, Kind, Layout, u8, u16
from replication.dns import rdtypes

_ALGORITHMS: Choices = (
    ("8", gettext_lazy("8: RSA/SHA-256")),
    ("10", gettext_lazy("10: RSA/SHA-512")),
    ("13", gettext_lazy("13: ECDSA P-256/SHA-256")),
    ("14", gettext_lazy("14: ECDSA P-384/SHA-384")),
    ("15", "15: Ed25519"),
    ("16", "16: Ed448"),
)
_DIGESTS: Choices = (("2", "2: SHA-256"), ("4", "4: SHA-384"), ("1", gettext_lazy("1: SHA-1 (not for new records)")))
_MATCHINGS: Choices = (
    ("1", gettext_lazy("1: SHA-256 hash")),
    ("2", gettext_lazy("2: SHA-512 hash")),
    ("0", gettext_lazy("0: full data")),
)
_SELECTORS: Choices = (("1", gettext_lazy("1: the public key")), ("0", gettext_lazy("0: the whole certificate")))
_USAGES: Choices = (
    ("3", gettext_lazy("3: this server’s certificate, from any issuer (DANE-EE)")),
    ("2", gettext_lazy("2: a private authority (DANE-TA)")),
    ("1", gettext_lazy("1: this certificate, from a public authority (PKIX-EE)")),
    ("0", gettext_lazy("0: this public authority (PKIX-TA)")),
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
    name: str, label: str, help_text: str = gettext_lazy("Enter hexadecimal digits. Spaces and colons are ignored.")
) -> Field:
    return Field(name, label, Kind.HEX, help_text)


def _certificate_layout(type: int, purpose: str) -> Layout:
    return Layout(
        type,
        purpose,
        (
            u8(
                "usage",
                gettext_lazy("Usage"),
                gettext_lazy("Choose how clients verify the certificate."),
                choices=_USAGES,
                default="3",
            ),
            u8(
                "selector",
                gettext_lazy("Selector"),
                gettext_lazy("Choose what clients compare."),
                choices=_SELECTORS,
                default="1",
            ),
            u8(
                "matching",
                gettext_lazy("Matching type"),
                gettext_lazy("Choose how clients compare the data."),
                choices=_MATCHINGS,
                default="1",
            ),
            _hex("certificate", gettext_lazy("Certificate data")),
        ),
        digest=_MATCHED,
    )


def _delegation_signer(type: int, purpose: str) -> Layout:
    return Layout(
        type,
        purpose,
        (
            u16("tag", gettext_lazy("Key tag")),
            u8(
                "algorithm",
                gettext_lazy("Algorithm"),
                gettext_lazy("Choose the key algorithm."),
                choices=_ALGORITHMS,
                default="13",
            ),
            u8("digest_type", gettext_lazy("Digest type"), choices=_DIGESTS, default="2"),
            _hex("digest", gettext_lazy("Digest")),
        ),
        digest=Digest("digest_type", "digest", _SHA | {"4": (48, "SHA-384")}),
    )


TLSA = _certificate_layout(rdtypes.TLSA, gettext_lazy("A TLS server’s certificate, at a name such as _443._tcp.www."))
SMIMEA = _certificate_layout(rdtypes.SMIMEA, gettext_lazy("A certificate for an email address."))
SSHFP = Layout(
    rdtypes.SSHFP,
    gettext_lazy("The fingerprint of an SSH server’s key."),
    (
        u8(
            "algorithm",
            gettext_lazy("Algorithm"),
            choices=(("4", "4: Ed25519"), ("3", "3: ECDSA"), ("1", "1: RSA"), ("6", "6: Ed448"), ("2", "2: DSA")),
            default="4",
        ),
        u8(
            "fingerprint_type",
            gettext_lazy("Fingerprint type"),
            choices=(("2", "2: SHA-256"), ("1", "1: SHA-1")),
            default="2",
        ),
        _hex("fingerprint", gettext_lazy("Fingerprint")),
    ),
    digest=Digest("fingerprint_type", "fingerprint", _SHA),
)
DS = _delegation_signer(rdtypes.DS, gettext_lazy("The key that signs the child zone at this name."))
CDS = _delegation_signer(rdtypes.CDS, gettext_lazy("The DS that the parent zone should have."))
CERT = Layout(
    rdtypes.CERT,
    gettext_lazy("A certificate or its location."),
    (
        Field(
            "kind",
            gettext_lazy("Type"),
            Kind.WORD,
            choices=(
                ("PKIX", "PKIX: X.509"),
                ("PGP", gettext_lazy("PGP: OpenPGP")),
                ("SPKI", "SPKI"),
                ("IPKIX", gettext_lazy("IPKIX: URL of an X.509 certificate")),
                ("IPGP", gettext_lazy("IPGP: fingerprint and URL of an OpenPGP key")),
                ("URI", gettext_lazy("URI: private format with a URI")),
                ("OID", gettext_lazy("OID: private format with an OID")),
            ),
            default="PKIX",
        ),
        u16("tag", gettext_lazy("Key tag"), default="0"),
        Field(
            "algorithm",
            gettext_lazy("Algorithm"),
            Kind.WORD,
            gettext_lazy("Choose the key algorithm."),
            choices=_CERT_ALGORITHMS,
            default="0",
        ),
        Field("certificate", gettext_lazy("Certificate"), Kind.BASE64, gettext_lazy("Enter Base64 or a PEM block.")),
    ),
)
