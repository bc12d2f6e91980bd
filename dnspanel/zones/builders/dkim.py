"""Builder for DKIM (RFC 6376, 8463): the public key with which receivers verify signatures. Pure."""

import base64
import re
from collections.abc import Sequence

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_der_public_key

from dnspanel.texts import gettext
from dnspanel.texts import gettext_lazy as _
from dnspanel.zones.builders.builder_pieces import Piece, Present, Values, below, format_tags, tags_of, txt
from dnspanel.zones.errors import BadFields
from dnspanel.zones.rules.mail_rules import GOOD_DKIM_BITS, LEAST_DKIM_BITS
from dnspanel.zones.typed.fields import Field, Kind, base64_text
from replication.dns import rdtypes
from replication.dns.rrset import Key
from replication.errors import BadName

_SELECTOR = re.compile(r"[a-z0-9_](?:[a-z0-9_.-]{0,61}[a-z0-9_])?", re.IGNORECASE)
_ED25519_BYTES = 32


class DkimBuilder:
    """The form for a DKIM selector's public key."""

    key = "dkim"
    title = "DKIM"
    purpose = _("The public key that receivers use to verify mail signed for this domain.")
    fields = (
        Field(
            "selector", _("Selector"), Kind.STRING, _("Enter the selector that the mail server uses."), default="mail"
        ),
        Field(
            "public_key",
            _("Public key"),
            Kind.TEXT,
            _("Paste a PEM block, the Base64 key, or the DKIM record that the mail server shows."),
        ),
        Field(
            "testing",
            _("Testing (t=y)"),
            Kind.FLAG,
            _("Receivers treat signed mail like unsigned mail."),
            required=False,
        ),
    )

    def keys(self, owner: str, values: Values) -> Sequence[Key]:
        selector = values.get("selector", "").strip()
        return [(_name(selector, owner), rdtypes.TXT)] if _SELECTOR.fullmatch(selector) else []

    def read(self, owner: str, present: Present) -> dict[str, str]:
        return {}

    def pieces(self, owner: str, values: Values, present: Present) -> Sequence[Piece]:
        selector = values.get("selector", "").strip()
        if not _SELECTOR.fullmatch(selector):
            raise BadFields({"selector": gettext("A selector can only contain letters, digits and hyphens.")})
        kind, key = read_key(values.get("public_key", ""))
        flags = "y" if values.get("testing") else ""
        text = format_tags((("v", "DKIM1"), ("k", kind), ("t", flags), ("p", key)))
        return [Piece(_name(selector, owner), rdtypes.TXT, (txt(text),))]


def read_key(typed: str) -> tuple[str, str]:
    """Return a pasted public key's type and Base64, as in a DKIM record. Raise BadFields if the key is invalid."""
    if "PRIVATE KEY" in typed:
        raise _bad(gettext("This is a private key, which only the mail server should have. Paste the public key."))
    text = key_text(typed)
    try:
        raw = base64.b64decode(text, validate=True)
    except ValueError:
        raise _bad(gettext("The key isn’t valid Base64.")) from None
    if len(raw) == _ED25519_BYTES:
        return "ed25519", base64.b64encode(raw).decode()
    try:
        key = load_der_public_key(raw)
    except (ValueError, UnsupportedAlgorithm):
        raise _bad(gettext("The key can’t be read because the text is damaged or incomplete.")) from None
    if isinstance(key, Ed25519PublicKey):
        return "ed25519", base64.b64encode(key.public_bytes(Encoding.Raw, PublicFormat.Raw)).decode()
    if not isinstance(key, RSAPublicKey):
        raise _bad(gettext("DKIM only supports RSA and Ed25519 keys."))
    if key.key_size < LEAST_DKIM_BITS:
        raise _bad(
            gettext(
                "The key has {key_size} bits. Receivers reject keys with fewer than {least_dkim_bits} bits."
            ).format(key_size=key.key_size, least_dkim_bits=LEAST_DKIM_BITS)
        )
    spki = key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return "rsa", base64.b64encode(spki).decode()


def about_key(typed: str) -> str:
    """Describe a public key's type and size in a sentence. Raise BadFields if the key is invalid."""
    kind, text = read_key(typed)
    key = load_der_public_key(base64.b64decode(text)) if kind == "rsa" else None
    if not isinstance(key, RSAPublicKey):
        return gettext("An Ed25519 key. Many receivers only support RSA, so add a second selector with an RSA key.")
    if key.key_size >= GOOD_DKIM_BITS:
        return gettext("An RSA key with {key_size} bits.").format(key_size=key.key_size)
    return gettext("An RSA key with {key_size} bits. RFC 8301 recommends at least {good_dkim_bits} bits.").format(
        key_size=key.key_size, good_dkim_bits=GOOD_DKIM_BITS
    )


def key_text(typed: str) -> str:
    """Extract the Base64 from a pasted public key: PEM, a DKIM record, quoted strings, or plain Base64."""
    text = typed
    if "p=" in text.lower():
        if text.lstrip().startswith(('"', "(")) or '"' in text:
            text = "".join(re.findall(r'"([^"]*)"', text))
        text = tags_of(text).get("p", "")
    return base64_text(text)


def _name(selector: str, owner: str) -> str:
    try:
        return below(f"{selector}._domainkey", owner)
    except BadName as exc:
        raise BadFields({"selector": str(exc)}) from exc


def _bad(message: str) -> BadFields:
    return BadFields({"public_key": message})
