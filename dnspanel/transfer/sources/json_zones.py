"""Read zones from JSON: the panel's own export, PowerDNS API zones, or deSEC RRsets.

    {"zone": NAME, "rrsets": [{"name", "type", "ttl", "records": [{"content", "disabled", "comment"}],
                              "comments": [{"content"}], "tags": […]}], "dnssec": {…}}     our own: see json_dnssec
    {"name": NAME, "rrsets": …}                                          PowerDNS
    {"domain": ZONE, "subname", "type", "ttl", "records": [TEXT, …]}     deSEC

The file is one such object, a list of them, or one per line. Names are absolute, with or without their trailing dot.
Zones are read one at a time. The RRsets of one zone can be anywhere in the file. A zone's DNSSEC state comes from its
first object with `dnssec`.
"""

import itertools
import json
import re
from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dnspanel.texts import gettext
from dnspanel.transfer.archives.textfile import TextFile
from dnspanel.transfer.documents import Document, Item, SourceFault
from dnspanel.transfer.errors import SourceRefused
from dnspanel.transfer.noted import noted_line_of
from dnspanel.transfer.sealed_keys import Opener
from dnspanel.transfer.sources.group_by_zone import ZoneCollector, record_line
from dnspanel.transfer.sources.json_dnssec import read_dnssec
from dnspanel.zones.values.rrset_notes import notes_of
from replication.dns import names, rdata
from replication.errors import BadName, BadRdata

_FIRST_READ = 1 << 20
# Character limit for one zone's object. Decoding takes several times as much memory.
_MOST_VALUE = 128 << 20
_MOST_SOURCE = 200
_SPACE = re.compile(r"[ \t\r\n]*")
_NEXT_OBJECT = re.compile(r"\n(?=\{)")
# Longer than JSON's longest word, -Infinity: an error this close to the end can mean that more text follows.
_NEAR_END = 10


class JsonSource:
    """The zones of a JSON file, as a `documents.Source`. Faults show `name` as the file's name.

    `keys_passphrase` is used to decrypt private keys in the file.
    """

    unit = "bytes"

    def __init__(self, path: Path, *, name: str = "", keys_passphrase: str = "") -> None:
        self._path, self._name = path, name or path.name
        self._opener = Opener(keys_passphrase) if keys_passphrase else None
        self._file = TextFile(path)
        self.total = self._file.size

    @property
    def done(self) -> int:
        return self._file.read

    def items(self, skip: int = 0) -> Iterator[Item]:
        """Yield the items of zone objects in the file's order, then the zones whose RRsets are separate objects.

        The first `skip` items are omitted. Raise SourceRefused if the file isn't UTF-8 text or has a value that is too
        large or nested too deeply. Raise UploadRefused if the file is an archive bomb.
        """
        return itertools.islice(self._items(), skip, None)

    def _items(self) -> Iterator[Item]:
        collector: ZoneCollector | None = None
        signed: set[str] = set()
        for line, value in _Values(self._file.pieces(), self._name).values():
            if isinstance(value, SourceFault):
                yield value
            elif isinstance(value, dict) and "domain" in value and "rrsets" not in value:
                collector = collector or ZoneCollector(self._path.parent)
                try:
                    zone = names.parse(_member(value, "domain", str))
                    owner = names.parse(value.get("subname") or "@", zone)
                    for text in _lines(owner, value):
                        collector.add(zone, text, line)
                except (ValueError, BadName, BadRdata) as exc:
                    yield self._fault(line, str(exc), value)
            else:
                yield from self._zone(value, line, signed)
        if collector:
            yield from collector.documents(self._name)

    def _zone(self, value: Any, line: int, signed: set[str]) -> Iterator[Item]:
        try:
            zone, rrsets = _zone_and_rrsets(value)
        except (ValueError, BadName) as exc:
            yield self._fault(line, str(exc), value)
            return
        # PowerDNS has `"dnssec": true`. The data to keep comes first, so that it is in the same piece as the zone.
        if isinstance(value.get("dnssec"), dict) and zone not in signed:
            signed.add(zone)
            kept, wrong = read_dnssec(zone, value["dnssec"], self._opener)
            yield from kept
            for reason in wrong:
                yield SourceFault(self._name, line, 1, "", reason, "dnssec-member", zone=zone)
        text: list[str] = []
        for rrset in rrsets:
            try:
                text += _lines(_member(rrset, "name", str), rrset)
            except (ValueError, BadName, BadRdata) as exc:
                yield self._fault(line, str(exc), rrset, zone)
        encoded = "".join(text).encode("utf-8", "surrogatepass")
        yield Document(self._name, encoded, zone, array("I", [line]) * encoded.count(b"\n"))

    def _fault(self, line: int, reason: str, value: Any, zone: str = "") -> SourceFault:
        return SourceFault(self._name, line, 1, json.dumps(value)[:_MOST_SOURCE], reason, "json", zone=zone)


def _zone_and_rrsets(value: Any) -> tuple[str, list[dict[str, Any]]]:
    if not isinstance(value, dict):
        raise ValueError(gettext("not an object with a zone or an RRset"))
    rrsets = value.get("rrsets")
    if not isinstance(rrsets, list):
        raise ValueError(gettext("the zone must have an “rrsets” list"))
    name = value.get("zone") or value.get("name")
    if not isinstance(name, str):
        raise ValueError(gettext("the object must have “zone” or “name”"))
    return names.parse(name), rrsets


def _lines(name: str, rrset: dict[str, Any]) -> Iterator[str]:
    """Yield the zone-file lines of one RRset. Raise ValueError, BadName or BadRdata if the RRset is invalid."""
    owner, type = names.parse(name), _member(rrset, "type", str).upper()
    ttl = rrset.get("ttl", "")
    comment = "; ".join(_comments(rrset))
    tags = [tag for tag in rrset.get("tags") or () if isinstance(tag, str)]
    of_value: dict[str, str] = {}
    for record in _member(rrset, "records", list):
        is_object = isinstance(record, dict)
        content = _member(record, "content", str) if is_object else record
        if not isinstance(content, str):
            raise ValueError(gettext("a record must be a string or an object with “content”"))
        disabled = is_object and record.get("disabled") is True
        yield record_line(owner, str(ttl), type, content, disabled=disabled, comment=comment)
        comment = ""
        if is_object and isinstance(record.get("comment"), str) and record["comment"]:
            of_value[content] = record["comment"]
    if tags or of_value:
        yield noted_line_of(owner, type, notes_of(rdata.type_from_text(type), tags, of_value))


def _comments(rrset: dict[str, Any]) -> Iterator[str]:
    for comment in rrset.get("comments") or ():
        text = comment.get("content") if isinstance(comment, dict) else comment
        if isinstance(text, str) and text.strip():
            yield text.strip()


def _member(value: Any, name: str, kind: type) -> Any:
    """Return a JSON object's member. Raise ValueError if the member is missing or isn't of the type `kind`."""
    if not isinstance(value, dict):
        raise ValueError(gettext("an RRset must be an object"))
    found = value.get(name)
    if not isinstance(found, kind):
        message = (
            gettext("“{name}” is missing or not a list")
            if kind is list
            else gettext("“{name}” is missing or not a string")
        )
        raise ValueError(message.format(name=name))
    return found


class _Values:
    """The JSON values in a file: a single value, consecutive values, or the elements of a list."""

    def __init__(self, pieces: Iterator[str], path: str) -> None:
        self._pieces = pieces
        self._path = path
        self._json = json.JSONDecoder()
        self._text = ""
        self._at = 0
        self._line = 1  # the current line
        self._begun = 0  # number of characters of the first line that are no longer in the buffer

    def values(self) -> Iterator[tuple[int, Any]]:
        """Yield each value with the line on which it begins, or a SourceFault where the text is not JSON.

        After a fault, continue at the next line that begins with an object, so one bad line does not affect the others.
        """
        is_list = self._peek() == "["
        if is_list:
            self._step(1)
        while char := self._peek():
            if is_list and char in ",]":
                self._step(1)
                is_list = char == ","
                continue
            line = self._line
            try:
                yield line, self._value()
            except json.JSONDecodeError as exc:
                fault = self._fault(exc)
                yield fault.line, fault
                if not self._skip_to_object():
                    return
        if is_list:
            yield (
                self._line,
                SourceFault(self._path, self._line, 1, "", gettext("the text ends inside a list"), "json-syntax"),
            )

    def _value(self) -> Any:
        while True:
            try:
                value, end = self._json.raw_decode(self._text, self._at)
            except json.JSONDecodeError as exc:
                is_cut = exc.msg.startswith("Unterminated string") or exc.pos > len(self._text) - _NEAR_END
                if not is_cut or not self._grow(max(_FIRST_READ, len(self._text) - self._at)):
                    raise
            except RecursionError as exc:
                raise SourceRefused(
                    gettext("The file is nested too deeply on line {line:,}.").format(line=self._line)
                ) from exc
            else:
                self._step(end - self._at)
                return value

    def _peek(self) -> str:
        """Return the next non-whitespace character, or "" at the end."""
        while True:
            space = _SPACE.match(self._text, self._at)
            assert space is not None
            self._step(space.end() - self._at)
            if self._at < len(self._text):
                return self._text[self._at]
            if not self._grow(_FIRST_READ):
                return ""

    def _skip_to_object(self) -> bool:
        while (found := _NEXT_OBJECT.search(self._text, self._at)) is None:
            self._step(max(0, len(self._text) - self._at - 1))  # an object can follow a final line feed
            if not self._grow(_FIRST_READ):
                return False
        self._step(found.end() - self._at)
        return True

    def _step(self, count: int) -> None:
        self._line += self._text.count("\n", self._at, self._at + count)
        self._at += count

    def _grow(self, size: int) -> bool:
        """Read more text. Return False at the end of the text. Raise SourceRefused if one value is too large."""
        if self._at:
            line_start = self._text.rfind("\n", 0, self._at) + 1
            self._begun = self._at - line_start + (self._begun if line_start == 0 else 0)
            self._text, self._at = self._text[self._at :], 0
        if len(self._text) > _MOST_VALUE:
            raise SourceRefused(
                gettext(
                    "The zone in line {line:,} is larger than {value} MiB as a JSON value. Upload a zone file instead."
                ).format(line=self._line, value=_MOST_VALUE >> 20)
            )
        pieces = [self._text]
        while size > 0 and (piece := next(self._pieces, "")):
            pieces.append(piece)
            size -= len(piece)
        self._text = "".join(pieces)
        return len(pieces) > 1

    def _fault(self, exc: json.JSONDecodeError) -> SourceFault:
        line_start = self._text.rfind("\n", 0, exc.pos) + 1
        column = exc.pos - line_start + 1 + (self._begun if line_start == 0 else 0)
        line = self._line + self._text.count("\n", self._at, exc.pos)
        end = self._text.find("\n", line_start)
        source_from = max(line_start, exc.pos - _MOST_SOURCE // 2)
        source = self._text[source_from : end if end >= 0 else None][:_MOST_SOURCE]
        return SourceFault(
            self._path, line, column, source, gettext("not valid JSON: {reason}").format(reason=exc.msg), "json-syntax"
        )
