"""Convert latitude and longitude, as people write them, to LOC's format: `52 30 58.600 N`. Pure.

The input can be decimal degrees (`52.51628`, `-33.85`), degrees and decimal minutes (`52° 30.977′ N`), or degrees,
minutes and seconds (`52°30′58.6″N`, `52 30 58.6 N`). LOC (RFC 1876) stores thousandths of an arcsecond.
"""

import re
from decimal import ROUND_HALF_EVEN, Decimal

from dnspanel.texts import gettext

_SYMBOLS = re.compile("[°º'’′\"”″,]")
_INTEGER = re.compile(r"[0-9]{1,3}")
_LAST = re.compile(r"[0-9]{1,3}(?:\.[0-9]{1,12})?")
_DEGREE = 3_600_000  # thousandths of a second


def latitude(text: str) -> str:
    """Convert a latitude to LOC's format. Raise ValueError, with a message for the user, if it is invalid."""
    return _canonical(text, "N", "S", 90)


def longitude(text: str) -> str:
    """Convert a longitude to LOC's format. Raise ValueError, with a message for the user, if it is invalid."""
    return _canonical(text, "E", "W", 180)


def _canonical(text: str, positive: str, negative: str, most: int) -> str:
    numbers, hemisphere = _split_hemisphere(text, positive, negative)
    is_negative = hemisphere == negative
    if not hemisphere and numbers and numbers[0][:1] in ("-", "+"):
        is_negative = numbers[0].startswith("-")
        numbers[0] = numbers[0][1:]
    integers, last = numbers[:-1], numbers[-1:]
    if not 1 <= len(numbers) <= 3 or not all(map(_INTEGER.fullmatch, integers)) or not all(map(_LAST.fullmatch, last)):
        raise ValueError(
            gettext("Enter degrees, for example 52.5163 or 52 30 58.6 {positive}.").format(positive=positive)
        )
    if any(Decimal(number) >= 60 for number in numbers[1:]):
        raise ValueError(gettext("Minutes and seconds must be below 60."))
    parts = zip(numbers, (_DEGREE, 60_000, 1000), strict=False)
    exact = sum((Decimal(number) * size for number, size in parts), Decimal(0))
    angle = int(exact.quantize(Decimal(1), ROUND_HALF_EVEN))
    if angle > most * _DEGREE:
        raise ValueError(gettext("The value must be at most {most} degrees.").format(most=most))
    letter = negative if is_negative and angle else positive
    degrees, rest = divmod(angle, _DEGREE)
    minutes, thousandths = divmod(rest, 60_000)
    return f"{degrees} {minutes} {thousandths // 1000}.{thousandths % 1000:03d} {letter}"


def _split_hemisphere(text: str, positive: str, negative: str) -> tuple[list[str], str]:
    """Split a coordinate into its numbers and the letter of its hemisphere ("" if it has none)."""
    text = _SYMBOLS.sub(" ", text.upper())
    parts = text.replace(positive, f" {positive} ").replace(negative, f" {negative} ").split()
    for at in (0, -1):
        if parts and parts[at] in (positive, negative):
            return (parts[1:] if at == 0 else parts[:-1]), parts[at]
    return parts, ""
