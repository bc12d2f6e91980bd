"""Read the zones listed in a BIND named.conf, with a parser for its grammar.

Only `zone`, `view`, `include`, `options { directory … }` and a zone's type and file are read. Everything else is
skipped, but its quotes and comments must be closed, and its braces must balance.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field

from dnspanel.texts import gettext
from dnspanel.transfer.documents import SourceFault

# A zone in the most common form is one token. Other zones take ten times as long.
_TOKEN = re.compile(
    r"""[\s]+ | //[^\n]* | \#[^\n]* | /\*.*?\*/           # nothing
      | (?P<zone>zone[ ]"(?P<name>[^"\\]+)"(?:[ ]IN)?\s*\{
            \s*type[ ](?P<type>\w+);\s*file[ ]"(?P<file>[^"\\]+)";\s*\}\s*;)
      | "(?P<quoted>(?:[^"\\]|\\.)*)"
      | (?P<mark>[{};])
      | (?P<word>(?:[^\s{};"/]|/(?![/*]))+)
      | (?P<bad>.)""",
    re.DOTALL | re.VERBOSE,
)
_LOOKS_LIKE = re.compile(
    rb"""^(?:\xef\xbb\xbf)?[ \t]*(?:zone[ \t]+(?:"[^"\n]*"|[^\s"{};]+)(?:[ \t]+\w+)?\s*\{
                 |(?:options|view[ \t]+"?[^\s"{};]+"?(?:[ \t]+\w+)?)\s*\{
                 |include[ ]"[^"\n]+"\s*;)""",
    re.MULTILINE | re.VERBOSE | re.IGNORECASE,
)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
PRIMARY_TYPES = frozenset({"master", "primary"})


@dataclass(frozen=True, slots=True)
class Place:
    """A statement's position. Line and column count from 1. `source` is the line, cut to 200 characters."""

    path: str
    line: int
    column: int
    source: str


@dataclass(frozen=True, slots=True)
class ListedZone:
    """A `zone` statement, with the zone's name as written. Missing options are "".

    `type` is lowercase, and `in-view` for a zone of another view. `offset` is the statement's offset in the text.
    """

    name: str
    type: str
    file: str
    offset: int
    view: str = ""
    rdclass: str = "in"


@dataclass(frozen=True, slots=True)
class Included:
    """An `include` statement, and the view that contains it."""

    path: str
    offset: int
    view: str = ""


class Lines:
    """Converter from offsets in a file's text to lines and columns."""

    def __init__(self, path: str, text: str) -> None:
        self._path, self._text = path, text
        self._starts = [0, *(match.end() for match in re.finditer("\n", text))]

    def place(self, offset: int) -> Place:
        line = bisect_right(self._starts, offset)
        start = self._starts[line - 1]
        end = self._text.find("\n", start)
        source = self._text[start : end if end >= 0 else None].strip()
        return Place(self._path, line, offset - start + 1, source[:200])


@dataclass(slots=True)
class Configuration:
    """A parsed configuration file. `listed` has its zones and includes in order, and `lines` converts their offsets."""

    path: str
    lines: Lines
    directory: str = ""
    listed: list[ListedZone | Included] = field(default_factory=list)
    faults: list[SourceFault] = field(default_factory=list)


def is_named_conf(text: bytes) -> bool:
    """Return True if any line begins with a statement that only occurs in BIND configurations."""
    return (b"{" in text or b'include "' in text) and _LOOKS_LIKE.search(text) is not None


def parse_named_conf(path: str, text: bytes) -> Configuration:
    """Parse a named.conf. Errors are returned as faults, and parsing stops at an unclosed quote or comment."""
    return _Reader(path, text.decode("utf-8-sig", "backslashreplace")).configuration()


@dataclass(slots=True)
class _Block:
    """A statement whose block is still open."""

    keyword: str
    tokens: list[str]
    offset: int
    options: dict[str, str] = field(default_factory=dict)


def _unquote_token(token: str) -> str:
    # As in BIND, a backslash only escapes a quote. Any other backslash is part of the text, as in a name's \DDD.
    return _ESCAPE.sub(lambda pair: '"' if pair[1] == '"' else pair[0], token[1:-1])


class _Reader:
    def __init__(self, path: str, text: str) -> None:
        self._text = text
        self._conf = Configuration(path, Lines(path, text))
        self._open: list[_Block] = []

    def configuration(self) -> Configuration:
        tokens: list[str] = []
        begun = 0
        for kind, match in self._tokens():
            token = match[0]
            if kind == "zone":
                self._add_zone(match["name"], match["type"], match["file"], match.start())
                tokens = []
            elif kind == "word" or kind == "quoted":
                begun = begun if tokens else match.start()
                tokens.append(token if kind == "word" else _unquote_token(token))
            elif token == "{":
                keyword = tokens[0].lower() if tokens else ""
                self._open.append(_Block(keyword, tokens, begun if tokens else match.start()))
                tokens = []
            elif token == "}":
                self._close(match.start())
                tokens = []
            else:
                # A `;` after a closed block only ends the statement of the block.
                if tokens:
                    self._statement(tokens, begun)
                tokens = []
        for block in self._open:
            self._fault(block.offset, gettext("a “{” without a closing “}”"))
        return self._conf

    def _tokens(self) -> Iterator[tuple[str, re.Match[str]]]:
        for match in _TOKEN.finditer(self._text):
            kind = match.lastgroup
            if kind == "bad":
                reason = (
                    gettext("a quote that isn’t closed") if match[0] == '"' else gettext("a comment that isn’t closed")
                )
                self._fault(match.start(), reason)
                # After an unclosed quote, quoted and unquoted text would be swapped.
                return
            if kind is not None:
                yield kind, match

    def _statement(self, tokens: list[str], offset: int) -> None:
        keyword = tokens[0].lower()
        value = tokens[1] if len(tokens) > 1 else ""
        if keyword == "include" and value:
            self._conf.listed.append(Included(value, offset, self._view()))
        elif self._open and self._open[-1].keyword == "zone":
            self._open[-1].options.setdefault(keyword, value)
        elif keyword == "directory" and self._open and self._open[-1].keyword == "options":
            self._conf.directory = self._conf.directory or value

    def _close(self, offset: int) -> None:
        if not self._open:
            self._fault(offset, gettext("a “}” without an opening “{”"))
            return
        block = self._open.pop()
        if block.keyword != "zone":
            return
        if len(block.tokens) < 2:
            self._fault(block.offset, gettext("a zone without a name"))
            return
        self._add_zone(
            name=block.tokens[1],
            type=block.options.get("type", "in-view" if "in-view" in block.options else ""),
            file=block.options.get("file", ""),
            offset=block.offset,
            rdclass=block.tokens[2].lower() if len(block.tokens) > 2 else "in",
        )

    def _add_zone(self, name: str, type: str, file: str, offset: int, rdclass: str = "in") -> None:
        # Blocks named “zone” also occur in blocks other than views, for example in response policies.
        if all(outer.keyword == "view" for outer in self._open):
            self._conf.listed.append(ListedZone(name, type.lower(), file, offset, self._view(), rdclass))

    def _view(self) -> str:
        return next((block.tokens[1] for block in self._open if block.keyword == "view" and len(block.tokens) > 1), "")

    def _fault(self, offset: int, reason: str) -> None:
        place = self._conf.lines.place(offset)
        self._conf.faults.append(
            SourceFault(place.path, place.line, place.column, place.source, reason, "configuration")
        )
