"""Parse and format quota amounts (`1000`, `2G`, `unlimited`) for each kind of quota. Pure."""

import re
from collections.abc import Mapping
from enum import StrEnum

from dnspanel.texts import gettext, gettext_noop


class Kind(StrEnum):
    """A kind of object that a quota limits. The value is its name in settings, the API and forms."""

    ZONES = "zones"  # created by a person, or belonging to a team
    RRSETS = "rrsets"  # in one zone
    OPERATIONS = "operations"  # in one draft
    DRAFTS = "drafts"  # named drafts
    TOKENS = "tokens"  # valid API tokens and TSIG keys
    IMPORTS = "imports"  # in progress
    BYTES = "bytes"  # of imported files


# Singular and plural.
_NOUNS = {
    Kind.ZONES: (gettext_noop("zone"), gettext_noop("zones")),
    Kind.RRSETS: (gettext_noop("RRset per zone"), gettext_noop("RRsets per zone")),
    Kind.OPERATIONS: (gettext_noop("change per draft"), gettext_noop("changes per draft")),
    Kind.DRAFTS: (gettext_noop("saved draft"), gettext_noop("saved drafts")),
    Kind.TOKENS: (gettext_noop("token"), gettext_noop("tokens")),
    Kind.IMPORTS: (gettext_noop("import in progress"), gettext_noop("imports in progress")),
    Kind.BYTES: (gettext_noop("of imported files"), gettext_noop("of imported files")),
}
UNLIMITED = "unlimited"
MOST = 10**15
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_AMOUNT = re.compile(r"([0-9]{1,15}) ?([KMGT]?)(?:i?B)?", re.ASCII | re.IGNORECASE)


def parse_amount(kind: Kind, text: str) -> int | None:
    """Parse an amount. Return None for `unlimited`. Raise ValueError with a message for the user if invalid."""
    word = text.strip().replace(",", "")
    if word.lower() == UNLIMITED:
        return None
    found = _AMOUNT.fullmatch(word)
    if not found or (kind is not Kind.BYTES and not word.isdecimal()):
        example = "2G, 500M" if kind is Kind.BYTES else "1000"
        raise ValueError(
            gettext("Enter a whole number such as {example}, or {unlimited}. {text!r} isn’t valid.").format(
                example=example, unlimited=UNLIMITED, text=text.strip()[:40]
            )
        )
    amount = int(found[1]) * _UNITS[found[2].upper()]
    if amount > MOST:
        raise ValueError(gettext("Enter at most {most:,}, or {unlimited}.").format(most=MOST, unlimited=UNLIMITED))
    return amount


def format_amount(kind: Kind, amount: int | None) -> str:
    """Format the exact amount in a way that `parse_amount` accepts."""
    if amount is None:
        return UNLIMITED
    if kind is Kind.BYTES and amount:
        unit = next(unit for unit in ("T", "G", "M", "K", "") if amount % _UNITS[unit] == 0)
        return f"{amount // _UNITS[unit]:,}{unit}"
    return f"{amount:,}"


def round_amount(kind: Kind, amount: int) -> str:
    """Format an amount for display, such as `1,000`. Bytes are rounded, such as `2.5 GiB`."""
    if kind is Kind.BYTES and amount >= _UNITS["K"]:
        unit = next(unit for unit in ("T", "G", "M", "K") if amount >= _UNITS[unit])
        return f"{amount / _UNITS[unit]:,.1f} {unit}iB".replace(".0 ", " ")
    return gettext("{count:,} bytes").format(count=amount) if kind is Kind.BYTES else f"{amount:,}"


def describe_amount(kind: Kind, amount: int) -> str:
    """Format an amount with its noun, such as `1,000 zones` or `2 GiB of imported files`."""
    noun = _NOUNS[kind][amount != 1]
    return gettext("{amount} {noun}").format(amount=round_amount(kind, amount), noun=gettext(noun))


def noun_of(kind: Kind) -> str:
    """Return the plural noun of this kind, for a heading."""
    if kind is Kind.BYTES:
        return gettext("size of imported files")
    noun = _NOUNS[kind][1]
    return gettext(noun)


def parse_quotas(text: str, defaults: Mapping[Kind, int | None]) -> dict[Kind, int | None]:
    """Return the defaults, overridden by the quotas in a string such as `zones=1000,bytes=2G`.

    Raise ValueError for an unknown kind or an invalid amount.
    """
    quotas = dict(defaults)
    for part in filter(None, map(str.strip, text.split(","))):
        word, _, amount = part.partition("=")
        if word.strip() not in list(Kind):
            raise ValueError(
                gettext("{text!r} isn’t one of {kinds}.").format(text=word.strip()[:40], kinds=", ".join(Kind))
            )
        kind = Kind(word.strip())
        quotas[kind] = parse_amount(kind, amount)
    return quotas
