"""Natural sort keys for names: host2 before host10. Pure.

Keys are compared byte by byte. Letters are unchanged, and numbers sort by value. A number of one digit is unchanged. A
longer number gets a prefix: a colon, which sorts after the digits in ASCII, and its count of digits. Leading zeros are
removed, and their count is added after the number: 2, 02, 002, 3.
"""

import re

_NUMBER = re.compile(r"[0-9]{2,}")
_NUMBER_OF_KEY = re.compile(rb"[0-9]{2}")
_DIGITS = 16  # two control characters count the digits; typed names have none


def natural_key(owner_key: bytes) -> bytes:
    """Return the natural sort key for an owner key (`keys.relative_key`). Names below a name sort directly after it.

    Two names with control characters can have the same key. Sort such names by their owner keys.
    """
    if _NUMBER_OF_KEY.search(owner_key) is None:
        return owner_key
    return natural_text(owner_key.decode("latin-1")).encode("latin-1")


def natural_text(name: str) -> str:
    """Return the natural sort key for a zone name. Each name has a different key."""
    return _NUMBER.sub(_sorted_by_value, name)


def _sorted_by_value(found: re.Match[str]) -> str:
    number = found[0].lstrip("0") or "0"
    zeros = len(found[0]) - len(number)
    sorted_first = number if len(number) == 1 else f":{_count(len(number))}{number}"
    return f"{sorted_first}\x01{_count(zeros)}" if zeros else sorted_first


def _count(digits: int) -> str:
    return chr(1 + digits // _DIGITS) + chr(1 + digits % _DIGITS)
