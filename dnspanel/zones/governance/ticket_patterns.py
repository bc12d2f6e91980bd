"""What a ticket looks like, as a rule says it: plain text in which `#` stands for a number. Pure.

Not a regular expression, whose time somebody else's text would decide: one look at each character of each word.
"""

from itertools import pairwise

from dnspanel.texts import gettext

LONGEST = 40
_AROUND = "()[]{}<>,.;:!?\"'`"


def fault_of(pattern: str) -> str:
    """What is wrong with a pattern, as a sentence; nothing for one that is all right."""
    if len(pattern) > LONGEST or not pattern.isprintable() or any(map(str.isspace, pattern)):
        return gettext("Use up to {longest} characters without spaces.").format(longest=LONGEST)
    if "#" not in pattern:
        return gettext("Write # where the ticket's number stands, as in OPS-#.")
    if any(a == "#" and (b == "#" or _is_digit(b)) for a, b in pairwise(pattern)):
        return gettext("What follows # is neither a digit nor another #: nobody could tell where the number ends.")
    return ""


def ticket_in(text: str, pattern: str) -> str:
    """The first word of the text that is such a ticket, without what stands around it; empty if there is none."""
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
