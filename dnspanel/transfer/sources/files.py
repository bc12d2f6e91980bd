"""Read uploaded zone files: single files, folders or archives, with or without a server's configuration.

An upload is read more than once. Before the first document, the panel must know which files are zones and which are
parts of other files. A fast byte search shows whether the upload can have a configuration or `$INCLUDE` lines. If so, a
survey finds them by content, not by name. The last pass yields the documents. Paths in an archive are never used to
write to disk. These files become documents:

- with a configuration: the files of the primary zones that it lists;
- without: every text file with an SOA record, and every other text file with records or zone-file directives, because a
  zone can get its SOA from `$INCLUDE` or the import's options. An included file is only a part of the including file.
"""

import itertools
import re
import tempfile
import weakref
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from dnspanel.texts import gettext, gettext_noop
from dnspanel.transfer.archives.decompress import Meter
from dnspanel.transfer.archives.paths import PathIndex
from dnspanel.transfer.archives.upload_files import Contents
from dnspanel.transfer.documents import Document, Item, SourceFault
from dnspanel.transfer.sources.detect import FileKind, file_kind, is_named_like_a_zone
from dnspanel.transfer.sources.listing import Listing, configurations_of, is_configuration, listing_of
from dnspanel.zones.rules.violations import Severity

_INCLUDE = re.compile(rb"^\$INCLUDE[ \t]+(?:\"([^\"\n]+)\"|([^\s;]+))", re.MULTILINE | re.IGNORECASE)

_INCLUDE_WORD = re.compile(rb"(?i)\$include")
# The keyword, name and class before the brace of a block. A name has at most 1,000 characters.
_BLOCK_HEAD = re.compile(rb"\bzone\b[^{}]*\Z", re.IGNORECASE)
_LONGEST_HEAD = 1100

# The reports about files that are not imported. Files of other kinds are skipped without a report.
_REASONS = {
    FileKind.EMPTY: ("empty", gettext_noop("an empty file")),
    FileKind.BACKUP: ("backup", gettext_noop("left out because the file name is that of a backup copy")),
    FileKind.KEY: (
        "dnssec-key",
        gettext_noop("left out: a DNSSEC key (paste the private key on the zone’s DNSSEC page)"),
    ),
    FileKind.ARCHIVE: ("depth", gettext_noop("left out: nested archives are not opened")),
    FileKind.RAW: (
        "raw",
        gettext_noop("a zone in BIND’s binary format (convert it with “named-compilezone -f raw -F text”)"),
    ),
    FileKind.UTF16: ("encoding", gettext_noop("UTF-16 text (zone files must be ASCII or UTF-8)")),
    FileKind.BINARY: ("binary", gettext_noop("not a text file: it contains a null byte")),
    FileKind.NO_RECORDS: ("no-records", gettext_noop("left out because the file has no records")),
}
_ERRORS = frozenset({FileKind.ARCHIVE, FileKind.RAW, FileKind.UTF16})
_ALWAYS_REPORTED = _ERRORS | {FileKind.BACKUP, FileKind.KEY}


@dataclass(slots=True)
class _Survey:
    """The results of the first pass over files. `included_by` maps an included file to a file that includes it."""

    listing: Listing | None = None
    configurations: frozenset[str] = frozenset()
    included_by: dict[str, str] = field(default_factory=dict)
    index: PathIndex | None = None


class FileSource:
    """The documents in an upload's files, as a `documents.Source`. `names` are the uploader's file names."""

    unit = "bytes"

    def __init__(self, paths: Sequence[Path], names: Sequence[str]) -> None:
        self._contents = Contents(paths, names)
        self._meters = (Meter(self._contents.size), Meter(self._contents.size))
        self.total = self._contents.size

    @property
    def done(self) -> int:
        """The number of bytes read so far. The survey and the last pass count half each."""
        return min(self.total, sum(meter.read for meter in self._meters) // 2)

    def items(self, skip: int = 0) -> Iterator[Item]:
        """Yield the faults of the configurations, then each file's documents or fault, without the first `skip` items.

        Raise UploadRefused if the upload exceeds a limit or is truncated.
        """
        self._meters = (Meter(self._contents.size), Meter(self._contents.size))
        return itertools.islice(self._items(), skip, None)

    def _items(self) -> Iterator[Item]:
        survey = _survey(self._contents, self._meters[0])
        if survey.listing:
            yield from survey.listing.faults
        self._meters[0].read = self.total
        for found in self._contents.walk(self._meters[1]):
            if isinstance(found, SourceFault):
                yield found
            else:
                yield from _items_of(found[0], found[1], survey, is_alone=self._contents.is_upload_itself(found[0]))


class Members:
    """The files that an upload's `$INCLUDE` lines refer to. They are cached for repeated lookups."""

    def __init__(self, paths: Sequence[Path], names: Sequence[str]) -> None:
        self._contents = Contents(paths, names)
        self._survey: _Survey | None = None
        self._places: dict[str, tuple[int, int]] = {}
        self._kept = tempfile.TemporaryFile()  # noqa: SIM115, closed together with this object
        weakref.finalize(self, self._kept.close)

    def document(self, from_path: str, included: str) -> Document | None:
        """Return the file that `$INCLUDE included` in `from_path` refers to.

        Paths are resolved like in BIND, within the upload. Return None if no file fits, or if several fit equally well.
        """
        survey = self._survey = self._survey or self._read()
        path = _included_path(survey, from_path, included)
        if path is None or path not in self._places:
            return None
        offset, size = self._places[path]
        self._kept.seek(offset)
        return Document(path, self._kept.read(size))

    def _read(self) -> _Survey:
        survey = _survey(self._contents, Meter(self._contents.size))
        for found in self._contents.walk(Meter(self._contents.size)):
            if not isinstance(found, SourceFault) and found[0] in survey.included_by:
                self._places[found[0]] = (self._kept.tell(), len(found[1]))
                self._kept.write(found[1])
        return survey


def _survey(contents: Contents, meter: Meter) -> _Survey:
    survey = _Survey()
    if not _may_refer(contents, meter):
        return survey
    paths, texts, includes = _collect_files(contents)
    survey.configurations = frozenset(texts)
    survey.index = PathIndex(paths)
    if texts:
        listing = listing_of(configurations_of(texts), survey.index)
        # If the configurations list no zones (for example only keys), the files are detected by content.
        survey.listing = listing if listing.zones or listing.faults else None
    for path, included in includes:
        target = _included_path(survey, path, included)
        if target is not None and target != path:
            survey.included_by.setdefault(target, path)
    return survey


def _collect_files(contents: Contents) -> tuple[list[str], dict[str, bytes], list[tuple[str, str]]]:
    """Return all paths, the configurations, and a pair (path, included file) for each `$INCLUDE` line."""
    paths: list[str] = []
    texts: dict[str, bytes] = {}
    includes: list[tuple[str, str]] = []
    for found in contents.walk(Meter(contents.size)):
        if isinstance(found, SourceFault):
            continue
        path, text = found
        paths.append(path)
        if is_configuration(text):
            texts[path] = text
        elif _INCLUDE_WORD.search(text):
            includes += ((path, (match[1] or match[2]).decode(errors="replace")) for match in _INCLUDE.finditer(text))
    return paths, texts, includes


def _may_refer(contents: Contents, meter: Meter) -> bool:
    """Return True if the upload can have a configuration or `$INCLUDE` lines."""
    tail = b""
    for chunk in contents.chunks(meter):
        text = tail + chunk
        if b"zone:" in text or _INCLUDE_WORD.search(text) or _has_block(text):
            return True
        tail = chunk[-_LONGEST_HEAD:]
    return False


def _has_block(text: bytes) -> bool:
    """Return True if a brace in the text can open a named.conf block. Zone files have few braces."""
    at = text.find(b"{")
    while at >= 0:
        if _BLOCK_HEAD.search(text, max(0, at - _LONGEST_HEAD), at):
            return True
        at = text.find(b"{", at + 1)
    return False


def _included_path(survey: _Survey, from_path: str, included: str) -> str | None:
    if survey.index is None:
        return None
    directory = survey.listing.directory if survey.listing else ""
    found = survey.index.find_paths(included, from_path.rpartition("/")[0], directory)
    return found[0] if len(found) == 1 else None


def _items_of(path: str, text: bytes, survey: _Survey, *, is_alone: bool) -> Iterator[Item]:
    if path in survey.configurations:
        return
    zones = survey.listing.zones.get(path) if survey.listing else None
    kind = file_kind(path, text)
    if zones is not None:
        if kind in _ERRORS or kind is FileKind.BINARY:
            yield _left_out(path, kind, Severity.ERROR)
        else:
            yield from (Document(path, text, zone=zone) for zone in zones)
    elif path in survey.included_by:
        yield _note(
            path, "included", gettext("included by other files, such as {file}").format(file=survey.included_by[path])
        )
    elif survey.listing and path in survey.listing.passed_over:
        return
    elif is_alone and kind not in _REASONS:
        # A person who uploads a single file wants to know what is wrong with it.
        yield Document(path, text)
    elif kind is FileKind.ZONE:
        yield (
            _note(path, "unlisted", gettext("not listed in any configuration file"))
            if survey.listing
            else Document(path, text)
        )
    elif kind in _ALWAYS_REPORTED:
        yield _left_out(path, kind, Severity.ERROR if kind in _ERRORS else Severity.NOTE)
    elif kind in _REASONS and (is_alone or is_named_like_a_zone(path)):
        yield _left_out(path, kind, Severity.ERROR if is_alone else Severity.WARNING)


def _left_out(path: str, kind: FileKind, severity: Severity) -> SourceFault:
    code, reason = _REASONS[kind]
    return SourceFault(path, 0, 0, "", gettext(reason), code, severity=severity)


def _note(path: str, code: str, reason: str) -> SourceFault:
    return SourceFault(path, 0, 0, "", reason, code, severity=Severity.NOTE)
