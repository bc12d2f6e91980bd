"""Parse SCIM filters and paths (RFC 7644, sections 3.4.2.2 and 3.5.2), for the supported subset. Pure.

Filters support only `eq` and `and`, which directories use to look up users by id or name. The parser reads the text
once, from left to right, and limits the text's length.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from dnspanel.api.scim.faults import ScimFault

LONGEST = 2_000
MOST_TERMS = 8
_URNS = ("urn:ietf:params:scim:schemas:core:2.0:user:", "urn:ietf:params:scim:schemas:core:2.0:group:")
_IN_NAMES = frozenset("$-_.:")
_DECODER = json.JSONDecoder()

Value = str | bool | int | float | None


@dataclass(frozen=True, slots=True)
class Term:
    """A condition that an attribute equals a value. The attribute's name is lowercase, without its schema."""

    attribute: str
    value: Value


@dataclass(frozen=True, slots=True)
class Path:
    """The target of an operation: a lowercase attribute, a filter on its values, and a sub-attribute."""

    attribute: str
    terms: tuple[Term, ...] = ()
    part: str = ""


def plain_name(name: str) -> str:
    """Return an attribute's name in lowercase, without the URN of the user or group schema."""
    name = name.lower()
    return next((name.removeprefix(urn) for urn in _URNS if name.startswith(urn)), name)


def parse_filter(text: str) -> tuple[Term, ...]:
    """Parse a filter into terms that must all match. Raise ScimFault (invalidFilter) if it isn't supported."""
    try:
        scanner = _Scanner(text)
        terms = scanner.terms(in_brackets=False)
        scanner.end()
    except ValueError as exc:
        raise ScimFault(400, f"This filter is not honoured: {exc}.", "invalidFilter") from exc
    return tuple(terms)


def parse_path(text: str) -> Path:
    """Parse a PATCH operation's path. Raise ScimFault (invalidPath) if it is invalid."""
    try:
        scanner = _Scanner(text)
        attribute = scanner.name()
        terms = scanner.terms(in_brackets=True) if scanner.takes("[") else ()
        part = scanner.name() if scanner.takes(".") else ""
        scanner.end()
    except ValueError as exc:
        raise ScimFault(400, f"This path cannot be used: {exc}.", "invalidPath") from exc
    if not part and "." in attribute and not attribute.startswith("urn:"):
        attribute, _, part = attribute.partition(".")
    return Path(attribute, tuple(terms), part)


class _Scanner:
    """A parser that reads a string from left to right, and raises ValueError with the reason if it is invalid."""

    def __init__(self, text: str) -> None:
        if len(text) > LONGEST:
            raise ValueError(f"it has more than {LONGEST:,} characters")
        self._text, self._at = text, 0

    def terms(self, *, in_brackets: bool) -> Sequence[Term]:
        found: list[Term] = []
        while True:
            found += self._term()
            if len(found) > MOST_TERMS:
                raise ValueError(f"it has more than {MOST_TERMS} conditions")
            self._spaces()
            if in_brackets and self.takes("]"):
                return found
            if not in_brackets and self._at == len(self._text):
                return found
            word = self.name()
            if word != "and":
                raise ValueError(f"“and” is understood, not “{word[:40]}”")

    def _term(self) -> Sequence[Term]:
        self._spaces()
        attribute = self.name()
        if self.takes("["):
            inner = [Term(f"{attribute}.{term.attribute}", term.value) for term in self.terms(in_brackets=True)]
            if not self.takes("."):
                return inner
            attribute = f"{attribute}.{self.name()}"
            return [*inner, self._read_comparison(attribute)]
        return [self._read_comparison(attribute)]

    def _read_comparison(self, attribute: str) -> Term:
        self._spaces()
        operator = self.name()
        if operator != "eq":
            raise ValueError(f"“eq” is understood, not “{operator[:40]}”")
        self._spaces()
        try:
            value, self._at = _DECODER.raw_decode(self._text, self._at)
        except (ValueError, RecursionError) as exc:
            raise ValueError("after “eq” comes a value as JSON writes it") from exc
        if isinstance(value, dict | list):
            raise ValueError("an attribute is compared with one value")
        return Term(attribute, value)

    def name(self) -> str:
        start = self._at
        while self._at < len(self._text) and self._is_of_name(self._text[self._at]):
            self._at += 1
        if start == self._at:
            rest = self._text[start : start + 1]
            raise ValueError(f"“{rest}” is not understood" if rest else "it ends early")
        return plain_name(self._text[start : self._at])

    def takes(self, character: str) -> bool:
        """Move past this character and return True if it comes next."""
        is_next = self._text.startswith(character, self._at)
        self._at += is_next
        return is_next

    def end(self) -> None:
        if self._at != len(self._text):
            raise ValueError(f"“{self._text[self._at]}” is not understood")

    def _spaces(self) -> None:
        while self._at < len(self._text) and self._text[self._at] == " ":
            self._at += 1

    @staticmethod
    def _is_of_name(character: str) -> bool:
        return character.isascii() and (character.isalnum() or character in _IN_NAMES)
