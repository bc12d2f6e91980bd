"""Match tickets in text with a rule's pattern: plain text where `#` matches a number. Pure.

Regular expressions can be slow on untrusted text. This matcher reads each character of each word once.
"""

from itertools import pairwise

from dnspanel.texts import gettext

LONGEST = 40
_AROUND = "()[]{}<>,.;:!?\"'`"


def fault_of(pattern: str) -> str:
    """Return an error message for a pattern, or "" if the pattern is valid."""
    if len(pattern) > LONGEST or not pattern.isprintable() or any(map(str.isspace, pattern)):
        return gettext("Enter up to {longest} characters without spaces.").format(longest=LONGEST)
    if "#" not in pattern:
        return gettext("Use # as the placeholder for the ticket number, for example OPS-#.")
    if any(a == "#" and (b == "#" or _is_digit(b)) for a, b in pairwise(pattern)):
        return gettext("Don’t enter a digit or another # after #. The end of the ticket number would be unclear.")
    return ""


def ticket_in(text: str, pattern: str) -> str:
    """Return the first word that matches the pattern, without surrounding punctuation, or "" if no word matches."""
    words = (word.strip(_AROUND) for word in text.split())
    return next((word for word in words if _fits(word, pattern)), "")


def _fits(word: str, pattern: str) -> bool:
    at = 0
    for character in pattern:
        if character != "#":
            if word[at : at + 1] != character:
                return False
            at += 1
            continue
        begin = at
        while _is_digit(word[at : at + 1]):
            at += 1
        if at == begin:
            return False
    return at == len(word)


def _is_digit(character: str) -> bool:
    return character.isascii() and character.isdigit()
