"""Detect a file's zone from its source, its SOA, its $ORIGIN or its file name."""

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from dnspanel.texts import gettext
from dnspanel.transfer.documents import Document
from dnspanel.transfer.zonefile.zonefile_tokens import Sheet, Unreadable
from replication.dns import names
from replication.errors import BadName

Include = Callable[[str], Document | None]

_SOA_LINE = re.compile(r"([^\s;()]*)[ \t]+(?:(?:[0-9]\w*|IN|CLASS1)[ \t]+)*SOA[ \t(]", re.IGNORECASE | re.ASCII)
_PLAIN_NAME = re.compile(r"(?:[A-Za-z0-9_-]{1,63}\.){1,3}", re.ASCII)
_MOST_DEPTH = 3  # the depth of includes that are searched for the SOA
_SUFFIXES = (
    *(".zone", ".db", ".hosts", ".host", ".txt", ".bind", ".dns", ".master", ".signed", ".zonefile", ".axfr"),
    *(".conf", ".rev", ".fwd", ".forward", ".reverse", ".dat", ".lan.db", ".bak"),
)
_PREFIXES = ("db.", "named.", "pri.", "pz.", "zone.", "master.", "primary.", "hosts.", "fwd.", "rev.", "db_", "zone_")
# File names that don't contain the zone's name. The directory's name can contain it.
_EMPTY = frozenset(("db", "zone", "zonefile", "named", "hosts", "data", "master", "primary", "records", "dns"))
_NETWORK = re.compile(r"(?:[0-9]{1,3}\.){0,3}[0-9]{1,3}", re.ASCII)
_LAST_LABEL = re.compile(r"[a-z][a-z0-9-]*[a-z0-9]", re.ASCII)


class Found(NamedTuple):
    """A file's zone, or "" with the reason and the number (from 0) of the line that should name the zone.

    `is_dotless` is True if the zone's name in the file lacks the trailing dot, so that other names probably lack it.
    """

    zone: str
    fault: Unreadable | None = None
    line: int = 0
    is_dotless: bool = False


class _Stated(NamedTuple):
    """The zone that a file names in the lines up to its first SOA.

    `owner` is the SOA's owner: None if the file has no SOA, or "" if the owner is relative and there is no origin.
    `origin` is the first $ORIGIN or "".
    """

    owner: str | None
    line: int
    origin: str
    is_dotless: bool


def find(sheet: Sheet, include: Include) -> Found:
    """Return the zone's name, or the reason why it is unknown."""
    given = sheet.document.zone
    if at_once := _stated_at_once(sheet.lines):
        return Found(given or at_once)
    stated = _read_stated(sheet, include)
    if given:
        return Found(given, is_dotless=stated.is_dotless)
    if stated.owner:
        return Found(stated.owner, is_dotless=stated.is_dotless)
    if stated.owner is None:
        # A zone without an SOA is invalid anyway, and its fault is clearer if the report names the zone.
        name = stated.origin or guess(sheet.document.path)
        reason = gettext(
            "the zone name is unknown: the file needs an SOA record, a $ORIGIN or a file name with the zone name"
        )
        fault = None if name else Unreadable(reason, "zone-name-unknown")
        return Found(name, fault, is_dotless=stated.is_dotless)
    reason = gettext("the zone name is unknown: the file needs a $ORIGIN or a file name with the zone name")
    return Found(
        "", Unreadable(reason, "zone-name-unknown", fix=_propose_soa_line(sheet.lines[stated.line])), stated.line
    )


def _stated_at_once(lines: list[str]) -> str:
    """Return the zone if at most `$ORIGIN` and `$TTL` precede a plain SOA line, as in most files, otherwise ""."""
    origin = ""
    for line in lines:
        fields = line.split(None, 4)
        if len(fields) < 2 or line[0] <= " ":
            return ""
        if fields[0] == "$ORIGIN" and len(fields) == 2:
            origin = fields[1]
            if origin[-1] != ".":
                return ""
        elif fields[0] != "$TTL":
            zone = origin if fields[0] == "@" else fields[0]
            before = fields[1 : fields.index("SOA")] if "SOA" in fields[1:] else [""]
            plain = zone[-1:] == "." and _PLAIN_NAME.fullmatch(zone) is not None
            return names.parse(zone) if plain and all(word == "IN" or word.isdigit() for word in before) else ""
    return ""


def _read_stated(sheet: Sheet, include: Include) -> _Stated:
    """Return the zone that the file itself names."""
    base = sheet.document.zone or guess(sheet.document.path)
    origin = last = first_origin = ""
    is_dotless = False
    for line, text in _lines(sheet, include, 0):
        if text[0] == "$":
            word = _argument_of_origin(text)
            if word and not origin and _is_dotless(sheet, word, base):
                is_dotless, word = True, word + "."
            origin = (_parse_name(word, origin) if word else "") or origin
            first_origin = first_origin or origin
            continue
        match = _SOA_LINE.match(text)
        if match is not None:
            owner = match[1]
            if owner and (
                _repeats(owner, origin, base, is_dotless=is_dotless) if origin else _is_dotless(sheet, owner, base)
            ):
                is_dotless, owner = True, owner + "."
            origin = origin or base
            return _Stated(_parse_name(owner, origin) if owner else last or origin, line, first_origin, is_dotless)
        if text[0] not in " \t;":
            last = _parse_name(text.split(None, 1)[0], origin or base) or last
    return _Stated(None, 0, first_origin, is_dotless)


def _is_dotless(sheet: Sheet, word: str, base: str) -> bool:
    """Return True if the zone's name in the file is absolute although it lacks the trailing dot.

    Exporters such as Cloudflare's write such names. `base` is the zone from the source or the file name, or "". If
    `base` comes from the file name, a name with a dot is relative to it only if the file's text contains `base`.
    """
    if word[-1] == "." or word == "@":
        return False
    name = _parse_name(word + ".", names.ROOT)
    if not name or name == base or "." not in word or sheet.document.zone:
        return bool(name) and name == base
    return not base or base.encode() not in sheet.document.text.lower()


def _repeats(owner: str, origin: str, base: str, *, is_dotless: bool) -> bool:
    """Return True if the SOA's owner repeats the origin without the trailing dot.

    `example.test` after `$ORIGIN example.test.` literally means `example.test.example.test.`. That is only correct if
    the source or the file name says so. A single label can repeat: `com.com.` is a zone.
    """
    if _parse_name(f"{owner}.", names.ROOT) != origin:
        return False
    return is_dotless or ("." in owner and base != _parse_name(owner, origin))


def _lines(sheet: Sheet, include: Include, depth: int) -> Iterator[tuple[int, str]]:
    """Yield non-empty lines with their numbers. An included file's lines have the number of the `$INCLUDE` line."""
    for line, text in enumerate(sheet.lines):
        if text[:8].upper() == "$INCLUDE" and depth < _MOST_DEPTH:
            fields = text.partition(";")[0].split()
            inner = include(fields[1].strip('"')) if len(fields) in (2, 3) else None
            if inner is not None:
                yield from ((line, text) for _, text in _lines(Sheet(inner, 0), include, depth + 1))
        elif text and not text.isspace():
            yield line, text


def _argument_of_origin(text: str) -> str:
    """Return the name in a $ORIGIN line, or "" for other lines."""
    fields = text.partition(";")[0].split()
    return fields[1] if len(fields) == 2 and fields[0].upper() == "$ORIGIN" else ""


def _parse_name(word: str, origin: str) -> str:
    """Return the canonical name, or "" if the token is not a name, or if it is relative and `origin` is empty."""
    absolute = word.endswith(".") and not word.endswith("\\.")
    if not absolute and not origin:
        return ""
    try:
        return names.parse(word, origin or None)
    except BadName:
        return ""


def _propose_soa_line(line: str) -> str:
    """Return the SOA line with a trailing dot after its owner, or "" if the owner is missing, invalid or @."""
    owner = _SOA_LINE.match(line)
    if owner is None or not owner[1] or not _parse_name(f"{owner[1]}.", names.ROOT) or owner[1] == "@":
        return ""
    return f"{owner[1]}.{line[len(owner[1]) :]}"


def guess(path: str) -> str:
    """Return the zone that a file's path suggests, or "" if it doesn't suggest any.

    `db.example.test`, `example.test.zone`, `pri.example.test` and `example.test/db` suggest `example.test.`, and
    `db.192.0.2` suggests `2.0.192.in-addr.arpa.`.
    """
    parts = [part for part in path.replace("\\", "/").split("/") if part not in ("", ".", "..")]
    for part in reversed(parts[-2:]):
        word, bare = part.lower(), _bare(part.lower())
        if bare in _EMPTY or word in _EMPTY:
            continue
        return _zone_of(bare)
    return ""


def _bare(word: str) -> str:
    """Return a file's name without prefixes and suffixes that only mark it as a zone file."""
    while True:
        shorter = word
        for suffix in _SUFFIXES:
            shorter = shorter.removesuffix(suffix)
        for prefix in _PREFIXES:
            shorter = shorter.removeprefix(prefix)
        if shorter == word or not shorter:
            return word
        word = shorter


def _zone_of(word: str) -> str:
    if _NETWORK.fullmatch(word) and all(int(part) < 256 for part in word.split(".")):
        word = ".".join(reversed(word.split("."))) + ".in-addr.arpa"
    word = word.rstrip(".")
    if "." not in word or not _LAST_LABEL.fullmatch(word.rpartition(".")[2]):
        return ""
    try:
        return names.parse(word + ".")
    except BadName:
        return ""
