"""The fast path of the zone-file parser, for plain lines of common types, in a few microseconds each.

A line is plain if it is `[owner] [ttl] [IN] TYPE rdata` in printable ASCII, without parentheses, escapes and comments.
`Reader.read_slowly` reads all other lines, including faulty ones. A test checks that both paths give the same results.

Repeated owner labels, TTLs and rdata are parsed once per process. The results are in dicts that compute missing values
with `__missing__` and that are emptied when they grow too large.
"""

import re
from collections.abc import Iterator
from itertools import islice

from dnspanel.transfer.documents import ReadyRRset
from dnspanel.transfer.zonefile.fast_rdata import KINDS
from dnspanel.transfer.zonefile.field_tables import ABSOLUTE, APEX_WORD, LABELS, LABELS_IN_RDATA, LONGEST_ZONE, TTLS
from dnspanel.transfer.zonefile.zonefile_content import Content
from dnspanel.zones.rules.rules import LOW_TTL
from replication.dns import names


class FastReader:
    """Reader for plain lines, which tracks the current origin, last owner and TTLs.

    `suffix` is the origin relative to the zone (`.sub`), "" at the zone's apex, and None if names need the slow path.
    `is_dotless` means that names ending in the zone's name are absolute even without a trailing dot.
    """

    def __init__(self, zone: str, *, is_dotless: bool = False) -> None:
        self.zone = zone
        self.is_dotless = is_dotless
        # In zones with a short name, every plain name is short enough. No name ends in the root's name.
        self.quick = len(zone) <= LONGEST_ZONE and zone != names.ROOT
        self.dot_zone = "." + zone if self.quick else "\0"
        self.zone_wire = names.to_wire(zone)
        self.content = Content(zone)
        self.origin = zone
        self.suffix: str | None = "" if self.quick and not is_dotless else None
        self.owner = ""  # the last owner, as written or absolute; "" before the first one
        self.default_ttl: int | None = None
        self.last_ttl: int | None = None

    def read_slowly(self, place: int, line: str) -> int:
        """Read the entry that begins at this line. Return the number of the entry's additional lines."""
        raise NotImplementedError

    def read(self, lines: Iterator[tuple[int, str]], *, comment: str = "", checked: bool = True) -> None:  # noqa: C901
        """Read numbered lines into `content`. `checked` means that all lines consist of printable ASCII and tabs.

        `comment` becomes the comment of each RRset. This loop runs once per record, so each bytecode counts.
        """
        low_ttls = self.content.low_ttls
        stated: int | None
        sets, places, again = self.content.sets, self.content.places, self.content.add_to
        zone, dot_zone, cut = self.zone, self.dot_zone, -len(self.dot_zone)
        kinds, ttls, labels, new = KINDS, TTLS, LABELS, tuple.__new__
        suffix, last_owner, usual, last_ttl = self.suffix, self.owner, self.default_ttl, self.last_ttl
        for place, line in lines:
            words = line.split(None, 4)
            try:
                if len(words) == 5 and words[2] == "IN" and line[0] > " ":
                    owner, ttl_word, _, mnemonic, value = words
                    ttl = stated = ttls[ttl_word]
                elif not words:
                    continue
                elif usual is not None and len(words) > 3 and words[1] == "IN" and words[2] in kinds and line[0] > " ":
                    owner, _, mnemonic, value = line.split(None, 3)
                    ttl, stated = usual, last_ttl
                elif usual is not None and len(words) > 2 and words[0] == "IN" and words[1] in kinds and line[0] <= " ":
                    _, mnemonic, value = line.split(None, 2)
                    owner, ttl, stated = last_owner, usual, last_ttl
                    if not owner:
                        raise KeyError(line)
                elif line[0] == "$" and self._read_plain_directive(words, last_owner):
                    suffix, last_owner, usual = self.suffix, self.owner, self.default_ttl
                    continue
                else:
                    owner, ttl, stated, mnemonic, value = _head(line, last_owner, usual, last_ttl)
                if not checked and not _PRINTABLE.fullmatch(line):
                    raise KeyError(line)
                type_, tail, cache, convert = kinds[mnemonic]
                if owner[-1] == ".":
                    word = owner[:cut] if owner.endswith(dot_zone) else self._apex_or_not(owner)
                    if word == "@":
                        raise KeyError(line)
                else:
                    word = owner if suffix == "" else self._below_origin(owner)
                below, key, _ = labels[word]
                text, wire = cache.get(value) or convert(self, value)
                record = key + tail
                if record in sets:
                    again(record, ttl, text, wire, place)
                else:
                    sets[record] = new(ReadyRRset, (below + zone, key, type_, ttl, (text,), (wire,), (), "", ""))
                    places[record] = place
                    if ttl < LOW_TTL:
                        low_ttls.add(record)
                last_owner = owner
                last_ttl = stated
                if comment:
                    self.content.comment(record, comment)
            except KeyError:
                self.owner, self.last_ttl = last_owner, last_ttl
                if more := self.read_slowly(place, line):
                    next(islice(lines, more - 1, None), None)
                suffix, last_owner, usual, last_ttl = self.suffix, self.owner, self.default_ttl, self.last_ttl
        self.owner, self.last_ttl = last_owner, last_ttl

    def _read_plain_directive(self, fields: list[str], last_owner: str) -> bool:
        """Read a `$TTL`, or a `$ORIGIN` with the zone's own name. Return False for any other line."""
        if len(fields) != 2:
            return False
        self.owner = last_owner
        if fields[0] == "$TTL":
            self.default_ttl = TTLS[fields[1]]
        elif fields[0] == "$ORIGIN" and fields[1] == self.zone:
            self.set_origin(fields[1])
        else:
            return False
        return True

    def set_origin(self, origin: str) -> None:
        """Set the origin for the following relative names. The last owner does not change."""
        if origin == self.origin:
            return
        if self.owner and not self.owner.endswith("."):
            self.owner = names.parse(self.owner, self.origin)
        self.origin = origin
        self.suffix = None
        if self.quick and not self.is_dotless and "\\" not in origin and names.is_within(origin, self.zone):
            self.suffix = "" if origin == self.zone else "." + origin[: -len(self.dot_zone)]

    def _apex_or_not(self, owner: str) -> str:
        if owner == self.zone:
            return APEX_WORD
        raise KeyError(owner)

    def _below_origin(self, word: str) -> str:
        """Return a name below the origin, relative to the zone. Raise KeyError if the name needs the slow path."""
        if not self.suffix:
            raise KeyError(word)
        return self.suffix[1:] if word == "@" else word + self.suffix

    def name_at(self, word: str) -> tuple[str, bytes, bytes]:
        """Parse a name in rdata. Return the name, its wire form, and its relative key (b"" outside the zone)."""
        try:
            if word[-1] != ".":
                relative = word if self.suffix == "" else self._below_origin(word)
            elif word.endswith(self.dot_zone):
                relative = word[: -len(self.dot_zone)]
                if relative == "@":
                    raise KeyError(word)
            elif word == self.zone:
                relative = APEX_WORD
            else:
                text, wire = ABSOLUTE[word]
                return text, wire, b""
            below, key, wire = LABELS_IN_RDATA[relative]
        except KeyError:
            lowered = word.lower()
            if lowered == word:
                raise
            text, _, key = self.name_at(lowered)
            # Names in rdata keep their capitals, but `text` begins with the word in lowercase.
            spelled = word + text[len(word) :]
            return spelled, names.to_wire(spelled), key
        return below + self.zone, wire + self.zone_wire, key


def _head(
    line: str, last_owner: str, default_ttl: int | None, last_ttl: int | None
) -> tuple[str, int, int | None, str, str]:
    """Split a plain line into (owner, TTL, TTL for the following lines, type, rdata).

    The fields can be in any allowed order. Raise KeyError if the line needs the slow path.
    """
    match = _HEAD.fullmatch(line)
    if match is None:
        raise KeyError(line)
    owner, before, after, mnemonic, value = match.groups()
    if before and after:
        raise KeyError(line)
    owner, ttl_word = owner or last_owner, before or after
    stated = TTLS[ttl_word] if ttl_word else last_ttl
    ttl = stated if ttl_word or default_ttl is None else default_ttl
    if ttl is None or not owner:
        raise KeyError(line)
    return owner, ttl, stated, mnemonic, value


_HEAD = re.compile(
    r"""([^\s;()"\\]*)[ \t]+(?:([0-9]\w*)[ \t]+)?(?:(?:IN|in)[ \t]+)?(?:([0-9]\w*)[ \t]+)?([A-Z]+|[a-z]+)[ \t]+(\S.*)"""
)
_PRINTABLE = re.compile(r"[\t -~]*")
