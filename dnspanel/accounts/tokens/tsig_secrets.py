"""Check the algorithms and secrets of TSIG keys. Pure."""

import base64
import binascii

from dnspanel.accounts.errors import TokenRefused
from dnspanel.texts import gettext

# hmac-md5 is only for keys that are already in use elsewhere.
OLD_ALGORITHM = "hmac-md5"
ALGORITHMS = ("hmac-sha256", "hmac-sha512", "hmac-sha384", "hmac-sha224", "hmac-sha1", OLD_ALGORITHM)
# Names below this one are reserved for secondaries' keys. No token has such a name.
OF_SECONDARIES = "secondaries.dnspanel."
LEAST_BITS = 128  # RFC 8945, section 8, recommends at least the digest length; half of SHA-256's can't be guessed

# Other spellings that some programs use.
_LONG_NAMES = {"hmac-md5.sig-alg.reg.int": OLD_ALGORITHM}


class TooShort(TokenRefused):
    """The TSIG secret is valid Base64 but has too few bits."""


def algorithm_of(text: str) -> str:
    """Return the TSIG algorithm's canonical name, ignoring a trailing dot. Raise TokenRefused if it isn't supported."""
    name = text.lower().removesuffix(".")
    name = _LONG_NAMES.get(name, name)
    if name not in ALGORITHMS:
        raise TokenRefused({"algorithm": [gettext("Use one of {list}.").format(list=", ".join(ALGORITHMS))]})
    return name


def refuse_reserved(name: str) -> None:
    """Raise TokenRefused if the canonical name is reserved for secondaries' keys."""
    if name.endswith(f".{OF_SECONDARIES}"):
        raise TokenRefused(
            {
                "name": [
                    gettext("Names below {of_secondaries} are reserved for secondaries’ keys.").format(
                        of_secondaries=OF_SECONDARIES
                    )
                ]
            }
        )


def refuse_bad_secret(text: str) -> None:
    """Raise TokenRefused unless the text is Base64 with at least LEAST_BITS bits."""
    try:
        secret = base64.b64decode(text, validate=True) if text.isascii() else b""
    except (ValueError, binascii.Error):
        secret = b""
    if not secret:
        raise TokenRefused({"key": [gettext("Enter the key in Base64.")]})
    if 8 * len(secret) < LEAST_BITS:
        raise TooShort(
            {
                "key": [
                    gettext("The key has {value} bits. Use at least {least_bits} bits.").format(
                        value=8 * len(secret), least_bits=LEAST_BITS
                    )
                ]
            }
        )


def refuse_new_of_old_algorithm(algorithm: str) -> None:
    """Raise TokenRefused for an outdated algorithm, which is only allowed for existing keys."""
    if algorithm == OLD_ALGORITHM:
        raise TokenRefused(
            {
                "algorithm": [
                    gettext(
                        "{algorithm} is only allowed for an existing key. Enter that key, or use hmac-sha256."
                    ).format(algorithm=algorithm)
                ]
            }
        )
