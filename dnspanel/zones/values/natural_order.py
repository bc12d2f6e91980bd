"""Names as people sort them: host2 before host10. Pure.

What is made of a name here sorts, byte by byte, as the name is wanted: letters as they are, and numbers in it by their
value. A number of one digit stays; one with more of them gets how many they are in front, behind a colon, which is
what follows the digits. Zeros before a number are counted behind it: 2, 02, 002, 3.
"""

import re

_NUMBER = re.compile(r"[0-9]{2,}")
_NUMBER_OF_KEY = re.compile(rb"[0-9]{2}")
_DIGITS = 16  # two control characters count digits; written names have none


def natural_key(owner_key: bytes) -> bytes:
    """Return the sort key of a zone's owner names (`keys.relative_key`). Names below a name come right after it.

    Two names with control characters may have the same key: then their own keys decide.
    """
    if _NUMBER_OF_KEY.search(owner_key) is None:
        return owner_key
    return natural_text(owner_key.decode("latin-1")).encode("latin-1")


def natural_text(name: str) -> str:
    """Return the sort key of zone names; it is unique."""
    return _NUMBER.sub(_sorted_by_value, name)


def _sorted_by_value(found: re.Match[str]) -> str:
    number = found[0].lstrip("0") or "0"
    zeros = len(found[0]) - len(number)
    sorted_first = number if len(number) == 1 else f":{_count(len(number))}{number}"
    return f"{sorted_first}\x01{_count(zeros)}" if zeros else sorted_first


def _count(digits: int) -> str:
    return chr(1 + digits // _DIGITS) + chr(1 + digits % _DIGITS)
