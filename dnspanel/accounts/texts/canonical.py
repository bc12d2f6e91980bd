"""Convert email addresses, user names and other names to canonical spellings for comparison. Pure.

PostgreSQL's `UPPER` and Python's `lower` turn some non-ASCII letters into ASCII letters: the dotless i, the long s, the
Kelvin sign. A comparison that uses them could open another user's account, so this module doesn't use them.
"""

import string
import unicodedata

import idna

LONGEST_KEY = 320  # a local part of 64 characters, @, and a domain of 253
_LONGEST_LOCAL_PART = 64
_LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)
# RFC 5322, 3.2.3: characters of a local part without quotes.
_ATOM_TEXT = frozenset(string.ascii_letters + string.digits + "!#$%&'*+-/=?^_`{|}~")
_BETWEEN_LABELS = str.maketrans("@.+_-", "     ")


def ascii_lower(text: str) -> str:
    """Return the text with A to Z in lowercase. Other characters don't change."""
    return text.translate(_LOWER)


def canonical_mail(text: str) -> str | None:
    """Return the address in lowercase with its domain as A-labels, or None if it has no canonical spelling.

    The local part must be ASCII without quotes, so that each mailbox has only one spelling.
    """
    local, at, domain = text.rpartition("@")
    parts = local.split(".")
    if not at or len(local) > _LONGEST_LOCAL_PART or not all(part and _ATOM_TEXT.issuperset(part) for part in parts):
        return None
    canonical = canonical_domain(domain)
    return None if canonical is None else f"{ascii_lower(local)}@{canonical}"


def canonical_domain(text: str) -> str | None:
    """Return an email domain as A-labels in lowercase, or None if IDNA 2008 doesn't allow it."""
    if text.endswith("."):
        return None
    try:
        # Strict: only an ASCII full stop separates labels, and no letter is mapped to another.
        return idna.encode(ascii_lower(text), strict=True, std3_rules=True).decode()
    except (idna.IDNAError, UnicodeError):
        return None


def canonical_username(text: str) -> str | None:
    """Return the name in the form UsernameCaseMapped (RFC 8265, section 3.3), or None if the profile disallows it.

    Outside of ASCII, this is stricter than the profile: IDNA 2008 must allow each letter in a label.
    """
    if text.isascii():
        return ascii_lower(text) if text and text.isprintable() and " " not in text else None
    wide = "".join(map(_without_width, text))
    if any(unicodedata.normalize("NFKC", character) != character for character in wide):
        return None  # it has a compatibility equivalent, like the Kelvin sign or the long s
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
    """Return the ordinary form of a fullwidth or halfwidth character (RFC 8265, section 3.3.1, Width Mapping Rule)."""
    kind, _, points = unicodedata.decomposition(character).partition(" ")
    return "".join(chr(int(point, 16)) for point in points.split()) if kind in ("<wide>", "<narrow>") else character
