"""The words of a search box: plain ones, and those with a filter and a colon in front, such as `tag:shop`."""

import re
from collections.abc import Collection
from contextlib import suppress
from ipaddress import ip_address

ZONE_FILTERS = ("has", "tag", "team")

_WORD = re.compile(r'(?:"[^"]*"|\S)+')
_FILTER = re.compile(r"([a-z][a-z-]*):", re.ASCII | re.IGNORECASE)


def split_search(search: str) -> list[str]:
    """The words of a search; quotes hold words together."""
    return _WORD.findall(search)


def unknown_filters(search: str, known: Collection[str]) -> list[str]:
    """What stands in front of a colon and is none of the filters of this box; addresses have colons of their own."""
    found = []
    for word in split_search(search):
        match = _FILTER.match(word)
        if match and match[1].lower() not in known and match[1] not in found and not _is_address(word):
            found.append(match[1])
    return found


def _is_address(word: str) -> bool:
    with suppress(ValueError):
        return bool(ip_address(word))
    return False
