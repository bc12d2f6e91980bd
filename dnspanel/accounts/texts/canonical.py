"""Canonical spellings for comparing mail addresses, user names and other names. Pure.

PostgreSQL's `UPPER` and Python's `lower` turn some other letters into ASCII: the dotless i, the long s, the Kelvin
sign. Comparing with them could open another person's account. So a letter outside ASCII never becomes an ASCII letter
here.
"""

import string
import unicodedata

import idna

LONGEST_KEY = 320  # a local part of 64 characters, @, and a domain of 253
_LONGEST_LOCAL_PART = 64
_LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)
# RFC 5322, 3.2.3: of a local part that needs no quotes.
_ATOM_TEXT = frozenset(string.ascii_letters + string.digits + "!#$%&'*+-/=?^_`{|}~")
_BETWEEN_LABELS = str.maketrans("@.+_-", "     ")


def ascii_lower(text: str) -> str:
    """Return the text with A to Z as small letters, and everything else as it is."""
    return text.translate(_LOWER)


def canonical_mail(text: str) -> str | None:
    """Return the address in small letters with its domain as A-labels; None for one without a canonical spelling.

    The local part is of ASCII without quotes, so that no two spellings are one mailbox.
    """
    local, at, domain = text.rpartition("@")
    parts = local.split(".")
    if not at or len(local) > _LONGEST_LOCAL_PART or not all(part and _ATOM_TEXT.issuperset(part) for part in parts):
        return None
    canonical = canonical_domain(domain)
    return None if canonical is None else f"{ascii_lower(local)}@{canonical}"


def canonical_domain(text: str) -> str | None:
    """Return a mail domain as A-labels in lower case, or None if IDNA 2008 does not allow it."""
    if text.endswith("."):
        return None
    try:
        # Strict: other full stops than that of ASCII are no separators, and no letter is mapped to another.
        return idna.encode(ascii_lower(text), strict=True, std3_rules=True).decode()
    except (idna.IDNAError, UnicodeError):
        return None


def canonical_username(text: str) -> str | None:
    """Return the name as UsernameCaseMapped (RFC 8265, 3.3) has it; None for a name that this profile refuses.

    Outside ASCII it is stricter than the profile: letters have to be such as IDNA 2008 allows in a label, too.
    """
    if text.isascii():
        return ascii_lower(text) if text and text.isprintable() and " " not in text else None
    wide = "".join(map(_without_width, text))
    if any(unicodedata.normalize("NFKC", character) != character for character in wide):
        return None  # it has a compatibility equivalent: the Kelvin sign, the long s
    name = unicodedata.normalize("NFC", wide.lower())
    try:
        for label in name.translate(_BETWEEN_LABELS).split():
            if not label.isascii():
                idna.check_label(label)
        idna.check_bidi(name)
    except (idna.IDNAError, UnicodeError):
        return None
    return name if name.isprintable() and " " not in name else None


def _without_width(character: str) -> str:
    """Return the ordinary form of a full-width or half-width character (RFC 8265, 3.3.1: the Width Mapping Rule)."""
    kind, _, points = unicodedata.decomposition(character).partition(" ")
    return "".join(chr(int(point, 16)) for point in points.split()) if kind in ("<wide>", "<narrow>") else character
