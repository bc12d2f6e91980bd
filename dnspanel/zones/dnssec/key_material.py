"""Generate, parse and format DNSSEC keys, and compute DS records and key tags. Pure.

A private key is stored in the format of PowerDNS and BIND ("private-key text"):

    Private-key-format: v1.2
    Algorithm: 13 (ECDSAP256SHA256)
    PrivateKey: <Base64>                              ECDSA: the number; EdDSA: the seed
    Modulus, PublicExponent, PrivateExponent, …       RSA: eight numbers, Base64, big endian

The DNSKEY's public key is derived from the private key: RFC 3110 (RSA), RFC 6605 (ECDSA), RFC 8080 (EdDSA).
"""

import base64
import binascii
import hashlib
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed448, ed25519, rsa

from dnspanel.texts import gettext
from dnspanel.zones.errors import BadKey
from replication.dns import names

PrivateKey = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey | ed448.Ed448PrivateKey

SEP, ZONE = 1, 256  # flags of a DNSKEY (RFC 4034 section 2.1.1)
KSK_FLAGS, ZSK_FLAGS = ZONE | SEP, ZONE
DEFAULT_ALGORITHM = 13
# IANA's mnemonics. Keys of the first two (SHA-1) can be imported with a zone, but are never generated.
ALGORITHMS: Mapping[int, str] = {
    5: "RSASHA1",
    7: "RSASHA1-NSEC3-SHA1",
    8: "RSASHA256",
    10: "RSASHA512",
    13: "ECDSAP256SHA256",
    14: "ECDSAP384SHA384",
    15: "ED25519",
    16: "ED448",
}
MADE = (13, 15, 14, 16, 8, 10)
RSA_BITS, FEWEST_RSA_BITS, MOST_RSA_BITS = 2048, 1024, 4096
# Longer texts are not keys: an RSA key of 4096 bits has about 3,300 characters.
MOST_TEXT = 16 << 10
# Digest types of DS. SHA-1 is only parsed, and shown where PowerDNS shows it. DIGESTS are for the parent.
EVERY_DIGEST: Mapping[int, str] = {1: "sha1", 2: "sha256", 4: "sha384"}
DIGESTS = (2, 4)

_RSA = frozenset((5, 7, 8, 10))
_CURVES: Mapping[int, ec.EllipticCurve] = {13: ec.SECP256R1(), 14: ec.SECP384R1()}
_EDWARDS: Mapping[int, type[ed25519.Ed25519PrivateKey] | type[ed448.Ed448PrivateKey]] = {
    15: ed25519.Ed25519PrivateKey,
    16: ed448.Ed448PrivateKey,
}
_DNSKEY = struct.Struct(">HBB")
_PROTOCOL = 3
_RSA_FIELDS = (
    "Modulus",
    "PublicExponent",
    "PrivateExponent",
    "Prime1",
    "Prime2",
    "Exponent1",
    "Exponent2",
    "Coefficient",
)


@dataclass(frozen=True, slots=True)
class KeyPair:
    """A key pair: algorithm, size in bits, public key as in the DNSKEY record, and private-key text."""

    algorithm: int
    bits: int
    public: bytes
    private_text: str = field(repr=False)


def generate(algorithm: int, bits: int | None = None) -> KeyPair:
    """Generate a key pair. `bits` sets the size of an RSA key. Raise BadKey for an unsupported algorithm or size."""
    if algorithm not in MADE:
        raise BadKey(
            gettext(
                "The panel cannot create keys with algorithm {algorithm}. Choose one of these algorithms: {list}."
            ).format(algorithm=algorithm, list=", ".join(map(str, MADE)))
        )
    size = bits or RSA_BITS
    if algorithm in _RSA:
        if not RSA_BITS <= size <= MOST_RSA_BITS or size % 8:
            raise BadKey(
                gettext("An RSA key must have {rsa_bits} to {most_rsa_bits} bits, not {size}.").format(
                    rsa_bits=RSA_BITS, most_rsa_bits=MOST_RSA_BITS, size=size
                )
            )
        return _pair(algorithm, rsa.generate_private_key(public_exponent=65537, key_size=size))
    if algorithm in _CURVES:
        private: PrivateKey = ec.generate_private_key(_CURVES[algorithm])
    else:
        private = _EDWARDS[algorithm].generate()
    pair = _pair(algorithm, private)
    if bits not in (None, 0, pair.bits):
        raise BadKey(
            gettext("A key with algorithm {algorithm} has {bits} bits, not {bits2}.").format(
                algorithm=ALGORITHMS[algorithm], bits=pair.bits, bits2=bits
            )
        )
    return pair


def read(text: str) -> KeyPair:
    """Parse a private-key text from PowerDNS's `export-zone-key` or BIND's `.private` file.

    Raise BadKey if the text is invalid. The message names at most the algorithm, an RSA key's size or a missing field.
    """
    fields = _fields(text)
    word = fields.get("algorithm", "").split(" ", 1)[0]
    if not word.isdecimal() or len(word) > 3 or int(word) not in ALGORITHMS:
        raise BadKey(gettext("The DNSKEY record has an unsupported algorithm."))
    algorithm = int(word)
    try:
        return _pair(algorithm, _private_key(algorithm, fields))
    except KeyError as exc:
        raise BadKey(gettext("The field {args} is missing.").format(args=exc.args[0])) from exc
    except (ValueError, binascii.Error) as exc:
        raise BadKey(
            gettext("The key’s fields aren’t valid for {algorithm}.").format(algorithm=ALGORITHMS[algorithm])
        ) from exc


def _fields(text: str) -> dict[str, str]:
    if len(text) > MOST_TEXT:
        raise BadKey(gettext("The text is too long for a private key."))
    fields: dict[str, str] = {}
    for line in text.splitlines():
        name, colon, value = line.partition(":")
        if colon:
            fields[name.strip().lower()] = value.strip()
    return fields


def _private_key(algorithm: int, fields: Mapping[str, str]) -> PrivateKey:
    if algorithm in _RSA:
        modulus, exponent, private, p, q, dp, dq, inverse = (
            int.from_bytes(_base64(fields, name), "big") for name in _RSA_FIELDS
        )
        if not FEWEST_RSA_BITS <= modulus.bit_length() <= MOST_RSA_BITS:
            raise BadKey(
                gettext("An RSA key must have {fewest_rsa_bits} to {most_rsa_bits} bits, not {bit_length}.").format(
                    fewest_rsa_bits=FEWEST_RSA_BITS, most_rsa_bits=MOST_RSA_BITS, bit_length=modulus.bit_length()
                )
            )
        # OpenSSL's own check also tests for primes and takes a tenth of a second. An import has thousands of keys.
        if not _belong_together(modulus, exponent, private, p, q, dp, dq, inverse):
            raise ValueError(algorithm)
        numbers = rsa.RSAPrivateNumbers(p, q, private, dp, dq, inverse, rsa.RSAPublicNumbers(exponent, modulus))
        return numbers.private_key(unsafe_skip_rsa_key_validation=True)
    secret = _base64(fields, "PrivateKey")
    if algorithm in _CURVES:
        return ec.derive_private_key(int.from_bytes(secret, "big"), _CURVES[algorithm])
    return _EDWARDS[algorithm].from_private_bytes(secret)


def _belong_together(  # noqa: PLR0913  # the numbers of an RSA key
    modulus: int, exponent: int, private: int, p: int, q: int, dp: int, dq: int, inverse: int
) -> bool:
    """Return True if the numbers form an RSA key (RFC 8017 section 3.2). p and q aren't tested for primality."""
    if min(p, q) < 3 or exponent < 3 or p * q != modulus:
        return False
    halves = all(private * exponent % (prime - 1) == 1 for prime in (p, q))
    return halves and (dp, dq) == (private % (p - 1), private % (q - 1)) and inverse * q % p == 1


def _base64(fields: Mapping[str, str], name: str) -> bytes:
    if name.lower() not in fields:
        raise KeyError(name)
    return base64.b64decode(fields[name.lower()], validate=True)


def _pair(algorithm: int, private: PrivateKey) -> KeyPair:
    if isinstance(private, rsa.RSAPrivateKey):
        lines, public, bits = _rsa_parts(private)
    elif isinstance(private, ec.EllipticCurvePrivateKey):
        size = private.curve.key_size // 8
        numbers = private.private_numbers()
        point = numbers.public_numbers
        public = point.x.to_bytes(size, "big") + point.y.to_bytes(size, "big")
        lines, bits = [_line("PrivateKey", numbers.private_value.to_bytes(size, "big"))], private.curve.key_size
    else:
        raw = serialization.Encoding.Raw, serialization.PublicFormat.Raw
        public = private.public_key().public_bytes(*raw)
        lines, bits = [_line("PrivateKey", private.private_bytes_raw())], 8 * len(public) if algorithm == 15 else 456
    head = ["Private-key-format: v1.2", f"Algorithm: {algorithm} ({ALGORITHMS[algorithm]})"]
    return KeyPair(algorithm, bits, public, "\n".join([*head, *lines, ""]))


def _rsa_parts(private: rsa.RSAPrivateKey) -> tuple[list[str], bytes, int]:
    numbers = private.private_numbers()
    n, e = numbers.public_numbers.n, numbers.public_numbers.e
    values = (n, e, numbers.d, numbers.p, numbers.q, numbers.dmp1, numbers.dmq1, numbers.iqmp)
    lines = [_line(name, _number(value)) for name, value in zip(_RSA_FIELDS, values, strict=True)]
    exponent = _number(e)
    length = bytes((len(exponent),)) if len(exponent) < 256 else b"\0" + struct.pack(">H", len(exponent))
    return lines, length + exponent + _number(n), n.bit_length()


def _number(value: int) -> bytes:
    return value.to_bytes((value.bit_length() + 7) // 8, "big")


def _line(name: str, value: bytes) -> str:
    return f"{name}: {base64.b64encode(value).decode()}"


def dnskey_wire(flags: int, algorithm: int, public: bytes) -> bytes:
    """Encode DNSKEY rdata in wire format."""
    return _DNSKEY.pack(flags, _PROTOCOL, algorithm) + public


def dnskey_text(flags: int, algorithm: int, public: bytes) -> str:
    """Format DNSKEY rdata for a zone file."""
    return f"{flags} {_PROTOCOL} {algorithm} {base64.b64encode(public).decode()}"


def key_tag(flags: int, algorithm: int, public: bytes) -> int:
    """Return the key tag that RRSIG and DS use (RFC 4034 appendix B). It isn't unique."""
    wire = dnskey_wire(flags, algorithm, public)
    total = sum(byte if index & 1 else byte << 8 for index, byte in enumerate(wire))
    return (total + (total >> 16)) & 0xFFFF


def ds_text(zone: str, flags: int, algorithm: int, public: bytes, digest_type: int = 2) -> str:
    """Compute and format the rdata of the parent's DS (RFC 4034 section 5.1.4)."""
    hashed = hashlib.new(EVERY_DIGEST[digest_type], names.to_wire(zone) + dnskey_wire(flags, algorithm, public))
    return f"{key_tag(flags, algorithm, public)} {algorithm} {digest_type} {hashed.hexdigest()}"


def is_named_by(zone: str, flags: int, algorithm: int, public: bytes, ds: Iterable[str]) -> bool:
    """Return True if one of these DS records matches the key."""
    good = {ds_text(zone, flags, algorithm, public, digest) for digest in EVERY_DIGEST}
    return any(text.lower() in good for text in ds)


def bind_file_name(zone: str, algorithm: int, tag: int) -> str:
    """Return BIND's file name for a key, without the extension."""
    return f"K{zone}+{algorithm:03}+{tag:05}"
