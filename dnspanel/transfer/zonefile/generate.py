"""Read `$GENERATE range owner [ttl] [class] type rdata`, which works as in BIND."""

import re
from collections.abc import Iterator

from dnspanel.texts import gettext
from dnspanel.transfer.zonefile.zonefile_tokens import Token, Unreadable, join_tokens

_RANGE = re.compile(r"([0-9]{1,10})-([0-9]{1,10})(?:/([0-9]{1,10}))?", re.ASCII)
_LARGEST = 2**31 - 1
# An escaped character, `$$`, `$` with modifiers (always shorter than 99 characters), or `$`.
_PLACE = re.compile(r"\\.|\$\$|\$\{([^}]{0,99})\}|\$(\{?)", re.ASCII)
_MODIFIERS = re.compile(r"(-?[0-9]{1,10})(?:,([0-9]{1,3})(?:,([doxXnN]))?)?", re.ASCII)


def numbers(token: Token) -> range:
    """Parse a range such as `1-10` or `0-100/5`. Raise Unreadable if the range is invalid."""
    match = _RANGE.fullmatch(token.text)
    start, stop, step = (int(match[1]), int(match[2]), int(match[3] or 1)) if match else (1, 0, 1)
    if start > stop or step == 0 or max(stop, step) > _LARGEST:
        reason = gettext("“{text}” isn’t a valid range: enter 1-10, or 0-100/5 for every fifth number").format(
            text=token.text
        )
        raise Unreadable(reason, "generate", token.column, token.line)
    return range(start, stop + 1, step)


def template(tokens: list[Token]) -> str:
    """Return the rdata, with `$` still in it as a placeholder. As in BIND, a single quoted string loses its quotes."""
    if len(tokens) == 1 and tokens[0].quoted:
        return tokens[0].text.replace('\\"', '"')
    return join_tokens(tokens)


def expand(text: str, numbers: range, token: Token) -> Iterator[str]:
    """Yield the text for each number. Raise Unreadable for unknown modifiers or a result that is out of range."""
    pieces = list(_pieces(text, token))
    for number in numbers:
        yield "".join([piece if isinstance(piece, str) else _number(number, *piece, token) for piece in pieces])


def _pieces(text: str, token: Token) -> Iterator[str | tuple[int, int, str]]:
    """Yield literal text, and (offset, width, base) for each `$`. Raise Unreadable for unknown modifiers."""
    end = 0
    for match in _PLACE.finditer(text):
        yield text[end : match.start()]
        end = match.end()
        if match[0] == "$$":
            yield "\\$"
        elif match[0][0] == "\\":
            yield match[0]
        elif match[1] is None and not match[2]:
            yield 0, 0, "d"
        else:
            modifiers = _MODIFIERS.fullmatch(match[1] or "")
            if modifiers is None:
                reason = gettext(
                    "“{match}” isn’t valid: enter ${{offset,width,base}} with one of d o x X n N as base"
                ).format(match=match[0])
                raise Unreadable(reason, "generate", token.column, token.line)
            yield int(modifiers[1]), int(modifiers[2] or 0), modifiers[3] or "d"
    yield text[end:]


def _number(number: int, offset: int, width: int, base: str, token: Token) -> str:
    value = number + offset
    if not 0 <= value <= _LARGEST:
        raise Unreadable(
            gettext("the offset {offset} changes {number} to {value}, which isn’t allowed").format(
                offset=offset, number=number, value=value
            ),
            "generate",
            token.column,
            token.line,
        )
    return _nibbles(value, width, base) if base in "nN" else format(value, f"0{width}{base}" if width else base)


def _nibbles(value: int, width: int, base: str) -> str:
    """Format a number as hexadecimal digits separated by dots, last digit first. The width includes the dots."""
    found = ""
    while True:
        found += format(value & 15, "x" if base == "n" else "X")
        value >>= 4
        if len(found) >= width and not value:
            return found
        found += "."
        if len(found) >= width and not value:
            return found
