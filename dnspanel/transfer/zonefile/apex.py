"""Which zone a file is about: what its source says, its SOA, its $ORIGIN, or its file name."""

import re
from collections.abc import Callable, Iterator

from dnspanel.texts import gettext
from dnspanel.transfer.documents import Document
from dnspanel.transfer.zonefile.tokens import Sheet, Unreadable
from replication.dns import names
from replication.errors import BadName

Include = Callable[[str], Document | None]

_SOA_LINE = re.compile(r"([^\s;()]*)[ \t]+(?:(?:[0-9]\w*|IN|CLASS1)[ \t]+)*SOA[ \t(]", re.IGNORECASE | re.ASCII)
_PLAIN_NAME = re.compile(r"(?:[A-Za-z0-9_-]{1,63}\.){1,3}", re.ASCII)
_MOST_DEPTH = 3  # of includes in which the SOA is looked for
_SUFFIXES = (
    *(".zone", ".db", ".hosts", ".host", ".txt", ".bind", ".dns", ".master", ".signed", ".zonefile", ".axfr"),
    *(".conf", ".rev", ".fwd", ".forward", ".reverse", ".dat", ".lan.db", ".bak"),
)
_PREFIXES = ("db.", "named.", "pri.", "pz.", "zone.", "master.", "primary.", "hosts.", "fwd.", "rev.", "db_", "zone_")
# File names that say nothing; the directory may.
_EMPTY = frozenset(("db", "zone", "zonefile", "named", "hosts", "data", "master", "primary", "records", "dns"))
_NETWORK = re.compile(r"(?:[0-9]{1,3}\.){0,3}[0-9]{1,3}", re.ASCII)
_LAST_LABEL = re.compile(r"[a-z][a-z0-9-]*[a-z0-9]", re.ASCII)


def find(sheet: Sheet, include: Include) -> tuple[str, Unreadable | None, int]:
    """The zone's name; or "", why it is not known, and the line (from 0) that would have to say it."""
    if sheet.document.zone:
        return sheet.document.zone, None, 0
    if at_once := _stated_at_once(sheet.lines):
        return at_once, None, 0
    owner, line, stated = _soa_owner(sheet, include)
    if owner:
        return owner, None, 0
    if owner is None:
        # Without a SOA the zone has a fault anyway, which is best reported at its name.
        name = stated or guess(sheet.document.path)
        reason = gettext("the file has no SOA record, and neither a $ORIGIN nor the file's name says which zone it is")
        return name, None if name else Unreadable(reason, "zone-name-unknown"), 0
    reason = gettext("the file does not say which zone it is: neither a $ORIGIN nor the file's name does")
    return "", Unreadable(reason, "zone-name-unknown", fix=_proposed(sheet.lines[line])), line


def _stated_at_once(lines: list[str]) -> str:
    """The zone of a file that begins as nearly all do: `$ORIGIN`, `$TTL`, SOA; "" for any other."""
    origin = ""
    for line in lines:
        fields = line.split(None, 4)
        if len(fields) < 2 or line[0] <= " ":
            return ""
        if fields[0] == "$ORIGIN" and len(fields) == 2:
            origin = fields[1]
        elif fields[0] != "$TTL":
            zone = origin if fields[0] == "@" else fields[0]
            before = fields[1 : fields.index("SOA")] if "SOA" in fields[1:] else [""]
            plain = zone[-1:] == "." and _PLAIN_NAME.fullmatch(zone) is not None
            return names.parse(zone) if plain and all(word == "IN" or word.isdigit() for word in before) else ""
    return ""


def _soa_owner(sheet: Sheet, include: Include) -> tuple[str | None, int, str]:
    """The owner of the first SOA, None if there is none, "" if it is relative to nothing.

    Then its line, and the first $ORIGIN or "".
    """
    origin = last = stated = ""
    for line, text in _lines(sheet, include, 0):
        if text[0] == "$":
            origin = _origin(text, origin) or origin
            stated = stated or origin
            continue
        match = _SOA_LINE.match(text)
        if match is not None:
            origin = origin or guess(sheet.document.path)
            return (_parsed(match[1], origin) if match[1] else last or origin), line, stated
        if text[0] not in " \t;":
            last = _parsed(text.split(None, 1)[0], origin or guess(sheet.document.path)) or last
    return None, 0, stated


def _lines(sheet: Sheet, include: Include, depth: int) -> Iterator[tuple[int, str]]:
    """The lines that are not empty, and those of included files where they are included."""
    for line, text in enumerate(sheet.lines):
        if text[:8].upper() == "$INCLUDE" and depth < _MOST_DEPTH:
            fields = text.partition(";")[0].split()
            inner = include(fields[1].strip('"')) if len(fields) in (2, 3) else None
            if inner is not None:
                yield from ((line, text) for _, text in _lines(Sheet(inner, 0), include, depth + 1))
        elif text and not text.isspace():
            yield line, text


def _origin(text: str, origin: str) -> str:
    """What a $ORIGIN line moves the origin to; "" for other lines."""
    fields = text.partition(";")[0].split()
    return _parsed(fields[1], origin) if len(fields) == 2 and fields[0].upper() == "$ORIGIN" else ""


def _parsed(word: str, origin: str) -> str:
    """The name, or "" if it is none or relative to nothing."""
    absolute = word.endswith(".") and not word.endswith("\\.")
    if not absolute and not origin:
        return ""
    try:
        return names.parse(word, origin or None)
    except BadName:
        return ""


def _proposed(line: str) -> str:
    """The SOA's line with a zone's name in front: that of the name server that it states."""
    owner = _SOA_LINE.match(line)
    server = line[owner.end() :].replace("(", " ").split()[:1] if owner else []
    if owner is None or not server or not server[0].endswith(".") or server[0].count(".") < 2:
        return ""
    return server[0].partition(".")[2] + line[len(owner[1]) :]


def guess(path: str) -> str:
    """The zone that a file's name says, or "".

    `db.example.test`, `example.test.zone`, `pri.example.test`, `example.test/db` are read as `example.test.`,
    and `db.192.0.2` as `2.0.192.in-addr.arpa.`.
    """
    parts = [part for part in path.replace("\\", "/").split("/") if part not in ("", ".", "..")]
    for part in reversed(parts[-2:]):
        word, bare = part.lower(), _bare(part.lower())
        if bare in _EMPTY or word in _EMPTY:
            continue
        return _zone_of(bare)
    return ""


def _bare(word: str) -> str:
    """A file's name without what only says that it is a zone file."""
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
