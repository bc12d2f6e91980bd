"""Read a zone file's entries, which can have several lines, include files or contain `$GENERATE`."""

import difflib
import re
from collections.abc import Callable, Iterator
from enum import Enum
from itertools import repeat

from dnspanel.texts import gettext
from dnspanel.transfer import import_limits
from dnspanel.transfer.documents import Document
from dnspanel.transfer.noted import NOTED, read_noted
from dnspanel.transfer.zonefile.field_tables import seconds
from dnspanel.transfer.zonefile.fixes import check_characters, replace_token
from dnspanel.transfer.zonefile.generate import expand, numbers, template
from dnspanel.transfer.zonefile.record_parser import PLACES_OF_FILE, RecordReader, Scope
from dnspanel.transfer.zonefile.zonefile_content import type_tail
from dnspanel.transfer.zonefile.zonefile_tokens import (
    Sheet,
    Token,
    Unreadable,
    comment_of,
    flatten,
    part_comment,
    read_entry,
)
from replication.codec.keys import relative_key
from replication.dns import names, rdata
from replication.errors import BadRdata

Include = Callable[[str], Document | None]

DISABLED = ";!disabled "
_LEAST_SIZE = 1_000  # the size that an empty include counts as, so that files including each other reach the limit
_SOA = re.compile(r"\sSOA\s", re.IGNORECASE)


class _NotSimple(Exception):
    """Raised for an entry that the fast path cannot read."""


class _MadeWrong(Exception):
    """Raised for an unreadable line from a `$GENERATE`."""

    def __init__(self, line: str, fault: Unreadable) -> None:
        super().__init__(line)
        self.line = line
        self.fault = fault


class Lines(Enum):
    """The kind of the current lines: lines of a file, a simplified entry, or lines from a `$GENERATE`."""

    OF_FILE = 1
    SIMPLE = 2
    MADE = 3


_NO_SHEET = Sheet(Document("", b""), 0)


class Reader(RecordReader):
    """Reader for all files of one zone."""

    def __init__(
        self, zone: str, scope: Scope, *, include: Include, most_generated: int | None = None, is_dotless: bool = False
    ) -> None:
        super().__init__(zone, scope, is_dotless=is_dotless)
        self._dotless_reported = False
        self._most_generated = import_limits.MOST_GENERATED if most_generated is None else most_generated
        self.include = include
        self.generated = 0
        self._depth = 0
        self._size = 0  # total bytes of all files
        self._sheet = _NO_SHEET
        self._badly_encoded: set[int] = set()
        self._lines_of = Lines.OF_FILE

    def read_sheet(self, sheet: Sheet) -> None:
        """Read one file from its first line to its last. `sheet.base` must be `next_base`."""
        outer, self._sheet = self._sheet, sheet
        self.sheets.append(sheet)
        if sheet.fault is not None:
            self.report(sheet.base + sheet.fault_line, sheet.fault)
        else:
            self.read(sheet.lines_with_places(), checked=sheet.plain)
        self._sheet = outer

    @property
    def next_base(self) -> int:
        return len(self.sheets) * PLACES_OF_FILE

    # Entries

    def read_slowly(self, place: int, line: str) -> int:
        """Read the entry that begins at this place in the current file, and report its fault if it is unreadable.

        Return the number of the entry's additional lines. Raise _NotSimple if only the fast path is allowed, or
        _MadeWrong if a generated line is unreadable.
        """
        if self._lines_of is Lines.OF_FILE:
            return self._read_of_file(place, line)
        if self._lines_of is Lines.SIMPLE:
            raise _NotSimple
        try:
            self._read_entry(place, [line])
        except Unreadable as fault:
            raise _MadeWrong(line, fault) from fault
        return 0

    def _read_of_file(self, place: int, line: str) -> int:
        start = line.lstrip(" \t")
        if start == "" or (start[0] == ";" and not line.startswith((DISABLED, NOTED))):
            return 0
        more = 0
        try:
            if line.startswith(NOTED):
                self._read_noted(place, line)
                return 0
            if line.startswith(DISABLED):
                self._read_disabled(place, line)
                return 0
            block = self._sheet.block(place - self._sheet.base)
            more = len(block) - 1
            if more and sum(map(len, block)) > import_limits.MOST_LINE_BYTES:
                raise Unreadable(import_limits.title("line"), "line-length")
            if not self._read_simply(place, block):
                self._read_entry(place, block)
        except Unreadable as fault:
            self._report_unreadable(place, fault)
            # Continue after the first line of an entry with an open parenthesis, so that good lines are not lost.
            return 0 if fault.code == "parenthesis" else more
        return more

    def _read_disabled(self, place: int, line: str) -> None:
        """Read a disabled record. Its owner and TTL don't affect later lines, because other programs see a comment."""
        owner, last_ttl = self.owner, self.last_ttl
        try:
            self._read_entry(place, [" " * len(DISABLED) + line[len(DISABLED) :]], disabled=True)
        finally:
            self.owner, self.last_ttl = owner, last_ttl

    def _read_noted(self, place: int, line: str) -> None:
        """Read a line with an RRset's tags and value comments, unless comments are not imported.

        Ignore RRsets outside the zone. Raise Unreadable if the line is invalid.
        """
        if not self.scope.comments:
            return
        try:
            name, type_, notes = read_noted(line, self.origin)
        except ValueError as exc:
            raise Unreadable(gettext("the tags and comments couldn’t be read: {exc}").format(exc=exc), "noted") from exc
        if names.is_within(name, self.zone):
            self.content.note(relative_key(name, self.zone) + type_tail(type_), notes, place)

    def _read_as(self, kind: Lines, lines: Iterator[tuple[int, str]], comment: str = "") -> None:
        before, self._lines_of = self._lines_of, kind
        try:
            self.read(lines, comment=comment, checked=False)
        finally:
            self._lines_of = before

    def _read_simply(self, place: int, block: list[str]) -> bool:
        """Read an entry with a comment or parentheses that is otherwise plain. Return False for any other entry."""
        comment = ""
        if len(block) == 1:
            parted = part_comment(block[0])
            # A text that ends at a “;” without a space before it is probably a mistake, which the slow path reports.
            if parted is None or not parted[0].endswith((" ", "\t")):
                return False
            line, comment = parted
        else:
            flat = flatten(block)
            if flat is None:
                return False
            # The comment after the last line of an SOA describes only one of its fields.
            line, comment = flat, "" if _SOA.search(flat) else comment_of(block[-1])
        try:
            self._read_as(Lines.SIMPLE, iter([(place, line)]), comment if self.scope.comments else "")
        except _NotSimple:
            return False
        return True

    def _report_unreadable(self, place: int, fault: Unreadable) -> None:
        if fault.code == "wrong-encoding":
            number = place // PLACES_OF_FILE
            if number in self._badly_encoded:
                return
            self._badly_encoded.add(number)
            offset = self.sheets[number].offset(place % PLACES_OF_FILE + fault.line, fault.column)
            fault.reason = gettext("wrong encoding: the byte at offset {offset:,} in the file is not UTF-8").format(
                offset=offset
            )
        self.report(place, fault, fault.severity)

    def _read_entry(self, place: int, block: list[str], *, disabled: bool = False) -> None:
        """Read a directive or record from its tokens. Raise Unreadable if the entry is faulty."""
        entry = read_entry(block)
        if not entry.tokens:
            return
        line = block[0] if len(block) == 1 and not disabled else None
        first = entry.tokens[0]
        blank = entry.blank and not disabled
        if first.text.startswith("$") and not first.quoted and not blank:
            self._read_directive(place, entry.tokens)
            return
        check_characters(entry.tokens, line)
        head = self.head_of(entry.tokens, line, blank=blank)
        if self.is_dotless and not blank and self.name_without_dot(first):
            self._report_dotless(place, first, line)
        self.read_record(place, head, entry, line, disabled=disabled)

    # Directives

    def _read_directive(self, place: int, tokens: list[Token]) -> None:
        word = tokens[0].text.upper()
        reader = self._DIRECTIVES.get(word)
        if reader is None:
            close = difflib.get_close_matches(word, self._DIRECTIVES, n=1)
            fix = replace_token(self.line_at(place), tokens[0], close[0]) if close else ""
            raise Unreadable(
                gettext("{text} isn’t a valid directive").format(text=tokens[0].text), "directive", fix=fix
            )
        reader(self, place, tokens)

    def _read_ttl(self, place: int, tokens: list[Token]) -> None:
        token = _arguments(tokens, 1)[0]
        ttl = seconds(token.text)
        if ttl is None:
            reason = gettext("“{text}” isn’t a valid TTL: enter seconds, or a value such as 5m, 1h or 1d").format(
                text=token.text
            )
            raise Unreadable(reason, "ttl", token.column, token.line)
        self.default_ttl = self.in_range(ttl, token, self.line_at(place))

    def _read_origin(self, place: int, tokens: list[Token]) -> None:
        token, line = _arguments(tokens, 1)[0], self.line_at(place)
        if not self.is_dotless and self.origin == self.zone and self.absolute_within(token.text) == self.zone:
            self.is_dotless = True  # literally, it would mean a name below the zone that repeats the zone's name
        name = self.name_without_dot(token)
        if name:
            self.suffix = None
            self._report_dotless(place, token, line)
        self.set_origin(name or self.name_of(token, line))

    def _report_dotless(self, place: int, token: Token, line: str | None) -> None:
        """Warn, only once, that the zone's name in the file lacks the trailing dot."""
        if self._dotless_reported:
            return
        self._dotless_reported = True
        reason = gettext(
            "“{text}” has no trailing dot: in this file, record names that end in {zone} are read as complete"
        ).format(text=token.text, zone=self.zone)
        fix = replace_token(line, token, f"{token.text}.")
        self.warn(place, Unreadable(reason, "zone-name-dot", token.column, token.line, fix=fix))

    def _read_include(self, place: int, tokens: list[Token]) -> None:
        """Read another file in place of the line, then restore origin and owner. Raise Unreadable if that fails."""
        arguments = _arguments(tokens, 1, 2)
        path = arguments[0]
        if self._depth >= import_limits.MOST_INCLUDE_DEPTH:
            raise Unreadable(import_limits.title("include"), "include-depth", path.column, path.line)
        document = self.include(path.text)
        if document is None:
            reason = gettext("the file “{text}” is not part of the import").format(text=path.text)
            raise Unreadable(reason, "include-missing", path.column, path.line)
        self._size += max(len(document.text), _LEAST_SIZE)
        if self._size > import_limits.MOST_DOCUMENT_BYTES:
            raise Unreadable(
                gettext("{titles}, including $INCLUDE files").format(titles=import_limits.title("document")),
                "too-large",
                path.column,
                path.line,
            )
        inner = self.name_of(arguments[1], self.line_at(place)) if len(arguments) == 2 else self.origin
        outer, owner = self.origin, self.owner
        if owner and not owner.endswith("."):
            owner = names.parse(owner, outer)
        self.set_origin(inner)
        self._depth += 1
        self.read_sheet(Sheet(document, self.next_base))
        self._depth -= 1
        self.set_origin(outer)
        self.owner = owner

    def _read_generate(self, place: int, tokens: list[Token]) -> None:
        """Read the records that the line generates. Raise Unreadable if the line or a generated record is invalid."""
        if len(tokens) < 5:
            reason = gettext("$GENERATE needs a range, a name, a type and a value: $GENERATE 1-10 host$ A 192.0.2.$")
            raise Unreadable(reason, "generate", tokens[-1].end, tokens[-1].line)
        _, count, owner, *rest = tokens
        iterations = numbers(count)
        at = next((at for at, token in enumerate(rest) if _is_type(token)), len(rest)) + 1
        if at >= len(rest):
            raise Unreadable(gettext("$GENERATE needs a type and a value"), "generate", rest[-1].column, rest[-1].line)
        if self.generated + len(iterations) > self._most_generated:
            raise Unreadable(
                import_limits.generated_title(self._most_generated), "generate-limit", count.column, count.line
            )
        self.generated += len(iterations)
        between = " ".join(token.written for token in rest[:at])
        lines = map(
            " ".join,
            zip(
                expand(owner.text, iterations, owner),
                repeat(between),
                expand(template(rest[at:]), iterations, rest[at]),
            ),
        )
        last_owner, last_ttl = self.owner, self.last_ttl
        try:
            self._read_as(Lines.MADE, zip(repeat(place), lines))
        except _MadeWrong as exc:
            reason = gettext("error in the generated line “{line}”: {reason}").format(
                line=exc.line, reason=exc.fault.reason
            )
            raise Unreadable(reason, exc.fault.code, count.column, count.line) from exc
        finally:
            self.owner, self.last_ttl = last_owner, last_ttl

    _DIRECTIVES = {"$TTL": _read_ttl, "$ORIGIN": _read_origin, "$INCLUDE": _read_include, "$GENERATE": _read_generate}


def _is_type(token: Token) -> bool:
    try:
        return not token.quoted and seconds(token.text) is None and bool(rdata.type_from_text(token.text))
    except BadRdata:
        return False


def _arguments(tokens: list[Token], least: int, most: int = 0) -> list[Token]:
    arguments = tokens[1:]
    directive = tokens[0]
    if len(arguments) < least:
        raise Unreadable(
            gettext("{text} requires a value").format(text=directive.text), "directive", directive.end, directive.line
        )
    if len(arguments) > max(least, most):
        extra = arguments[max(least, most)]
        raise Unreadable(
            gettext("unexpected “{text}” after {text2}").format(text=extra.text, text2=directive.text),
            "directive",
            extra.column,
            extra.line,
        )
    return arguments
