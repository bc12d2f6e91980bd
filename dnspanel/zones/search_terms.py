"""The words of a search box: plain ones, and those with a filter and a colon in front, such as `tag:shop`."""

import re
from collections.abc import Collection
from contextlib import suppress
from ipaddress import ip_address

from django.db.models import Q

from dnspanel.statement_time import SearchTooGeneral
from dnspanel.zones.models import Zone
from replication.dns import names
from replication.errors import BadName

ZONE_FILTERS = ("dnssec", "has", "tag", "team")
# Filters that take one of these words alone.
FILTER_VALUES = {"dnssec": ("signed", "unsigned")}

MOST_TERMS = 20
MANY_ZONES = 100_000  # up to here, their names are compared in a tenth of a second
THREE_IN_A_ROW = "it needs three letters or digits in a row"

# Three in a row, or a full label of two.
_IN_TRIGRAMS = re.compile(r"[a-z0-9]{3}|\.[a-z0-9]{2}\.", re.ASCII | re.IGNORECASE)
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


def unknown_values(search: str) -> list[str]:
    """The filters of zones that stand before a word that they do not take."""
    found = []
    for word in split_search(search):
        name, colon, value = word.lower().partition(":")
        if colon and name in FILTER_VALUES and value.strip('"') not in FILTER_VALUES[name]:
            found.append(f"{name}: takes {' or '.join(FILTER_VALUES[name])}, not {value}.")
    return found


def _is_address(word: str) -> bool:
    with suppress(ValueError):
        return bool(ip_address(word))
    return False


def is_in_trigrams(text: str) -> bool:
    """Whether the index of zone names finds a text: what has no three letters or digits in a row, it reads in full."""
    return _IN_TRIGRAMS.search(text) is not None


def in_zone_name(text: str) -> Q:
    """Zones with the text in their names, as it is stored or as a list displays it."""
    text = text.lower()
    if not text.isascii():
        with suppress(BadName):  # then nothing has it, and the list says so
            text = names.parse(text).removesuffix(".")
    # Names are in lower case; without UPPER() PostgreSQL does not take the index of trigrams: 0.3 s instead of 10 s.
    return Q(name__icontains=text) if is_in_trigrams(text) else Q(name__contains=text)


def has_many_zones() -> bool:
    """Whether there are so many that their names cannot all be compared while somebody waits."""
    return Zone.objects.filter(deleted_at=None)[MANY_ZONES : MANY_ZONES + 1].exists()


def refuse_too_general(search: str) -> None:
    """Raise SearchTooGeneral for a search of zones that no index serves in a large panel, or of very many terms."""
    terms = split_search(search)
    if len(terms) > MOST_TERMS:
        raise SearchTooGeneral(f"A search has at most {MOST_TERMS} words.")
    if terms and not any(_has_index(term) for term in terms) and has_many_zones():
        raise SearchTooGeneral(f"{terms[0]} is too general among so many zones: {THREE_IN_A_ROW}.")


def _has_index(term: str) -> bool:
    match = _FILTER.match(term)
    return (match is not None and match[1].lower() in ZONE_FILTERS) or is_in_trigrams(term) or not term.isascii()
