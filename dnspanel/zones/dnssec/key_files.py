"""Parse BIND's two files for a key: `K<zone>+<algorithm>+<tag>.key` (the DNSKEY record) and `.private`. Pure.

    ; This is a key-signing key, keyid 4711, for example.test.
    example.test. 3600 IN DNSKEY 257 3 13 <Base64, in one or more parts>

`key_material` parses the private file. Only the public file contains the key's owner and flags.
"""

import base64
import binascii
from collections.abc import Sequence
from dataclasses import dataclass

from dnspanel.texts import gettext
from dnspanel.zones.dnssec.key_material import ALGORITHMS, KSK_FLAGS, MOST_TEXT, ZSK_FLAGS, KeyPair, key_tag
from dnspanel.zones.errors import BadKey, BadPublicKey
from replication.dns import names
from replication.errors import BadName

PRIVATE_MARK = "Private-key-format:"

_CLASSES = frozenset(("IN", "CLASS1"))
_TYPES = frozenset(("DNSKEY", "TYPE48"))
_PROTOCOL = "3"


@dataclass(frozen=True, slots=True)
class PublicKey:
    """The contents of a `.key` file."""

    owner: str
    flags: int
    algorithm: int
    public: bytes


def read_public(text: str) -> PublicKey:
    """Parse a `.key` file: one DNSKEY record with its owner name, and comments. Raise BadPublicKey if it is invalid."""
    if len(text) > MOST_TEXT:
        raise BadPublicKey(gettext("The text is too long for a DNSKEY record."))
    lines = [line.partition(";")[0] for line in text.splitlines()]
    owner, *words = " ".join(lines).replace("(", " ").replace(")", " ").split() or [""]
    is_type = [word.upper() in _TYPES for word in words]
    if is_type.count(True) != 1:
        raise BadPublicKey(
            gettext("The text must be a single DNSKEY record with the owner name, as in a BIND .key file.")
        )
    before, after = words[: is_type.index(True)], words[is_type.index(True) + 1 :]
    if any(not word.isdecimal() and word.upper() not in _CLASSES for word in before) or len(after) < 4:
        raise BadPublicKey(
            gettext(
                "The DNSKEY record isn’t valid. Use this format: owner, TTL, IN, DNSKEY, flags, 3, algorithm, Base64."
            )
        )
    flags, protocol, algorithm, *parts = after
    if flags not in (str(KSK_FLAGS), str(ZSK_FLAGS)) or protocol != _PROTOCOL:
        raise BadPublicKey(
            gettext("The DNSKEY record must have the flags {ksk_flags} or {zsk_flags}, and protocol 3.").format(
                ksk_flags=KSK_FLAGS, zsk_flags=ZSK_FLAGS
            )
        )
    try:
        public = base64.b64decode("".join(parts), validate=True)
        known = {str(number): number for number in ALGORITHMS}
        return PublicKey(names.parse(owner), int(flags), known[algorithm], public)
    except (binascii.Error, ValueError) as exc:
        raise BadPublicKey(gettext("The last part of the DNSKEY record isn’t valid Base64.")) from exc
    except KeyError as exc:
        raise BadPublicKey(gettext("The DNSKEY record has an unsupported algorithm.")) from exc
    except BadName as exc:
        raise BadPublicKey(gettext("The DNSKEY record’s owner name isn’t valid: {exc}").format(exc=exc)) from exc


def flags_of(public: PublicKey, *, zone_name: str, pair: KeyPair) -> int:
    """Return a public key's flags. Raise BadPublicKey if the key belongs to another zone, or doesn't match `pair`."""
    if public.owner != zone_name:
        raise BadPublicKey(
            gettext("The key belongs to {owner}, not to {zone_name}.").format(
                owner=public.owner, zone_name=names.before_full_stop(zone_name)
            )
        )
    if (public.algorithm, public.public) != (pair.algorithm, pair.public):
        tags = [key_tag(public.flags, each.algorithm, each.public) for each in (public, pair)]
        raise BadPublicKey(
            gettext("The public key doesn’t match the private key. The key tag is {tags} instead of {tags2}.").format(
                tags=tags[0], tags2=tags[1]
            )
        )
    return public.flags


def told_apart(texts: Sequence[str]) -> tuple[str, str | None]:
    """Return the private key's text and the public key's text (or None) from one or two strings in any order.

    Raise BadKey unless there is exactly one private key and at most one other string.
    """
    private = [text for text in texts if PRIVATE_MARK.lower() in text.lower()]
    others = [text for text in texts if text not in private]
    if len(private) != 1 or len(others) > 1:
        raise BadKey(gettext("Enter the text of the private key, or upload the .private file and the .key file."))
    return private[0], others[0] if others else None
