"""Write BIND zone files, single or in a tar with the zone lists that BIND, NSD and Knot DNS load.

Each line is one record with its TTL, so a zone file can be searched and compared line by line. Nothing is lost. A
disabled record is the comment `;!disabled name ttl IN TYPE rdata`. An RRset's comment is at the end of its first line.
An RRset's tags and the comments of its values are a comment after the RRset (`transfer.noted`). Types that only
PowerDNS supports are written in the form of RFC 3597, after a comment line with their readable form. A zone that is
served with its source's signatures ends with the NSEC or NSEC3 records that these signatures cover. Any server can then
serve the file unchanged.
"""

import hashlib
import re
import tarfile
from collections.abc import Container, Iterable, Iterator
from functools import cache
from tempfile import SpooledTemporaryFile
from typing import IO, cast

from dnspanel.transfer.exports.exported_chain import Chain
from dnspanel.transfer.exports.exported_rows import ExportedZone, Out, Row
from dnspanel.transfer.noted import noted_line
from replication.dns import names, rdata, rdtypes
from replication.dns.signed_ttls import ttl_of_signature

LISTS_HELP = "File paths are relative to the directory of this list."
DIRECTORY = "zones"

_GENERIC = frozenset((rdtypes.ALIAS, rdtypes.LUA))
# The longest path in the ustar format, in bytes.
_MOST_FILE_NAME = 90
_KEPT_OF_LONG = 64
_UNSAFE = re.compile(r"[^a-z0-9._-]")
_UNFIT_FOR_COMMENTS = re.compile(r"[\x00-\x08\x0a-\x1f\x7f\x85\u2028\u2029]+")
_TEXT_IN_MEMORY = 8 << 20
_BLOCK = tarfile.BLOCKSIZE


def zone_lines(zone: ExportedZone) -> Iterator[str]:
    """Yield the zone's file: `$ORIGIN`, each RRset as one string of complete lines, and a presigned zone's chains."""
    yield f"$ORIGIN {zone.name}\n"
    cut = -1 if zone.name == names.ROOT else -1 - len(zone.name)
    chain = Chain(zone.name, zone.presigned) if zone.presigned is not None else None
    for row in zone.rows:
        if chain is not None:
            chain.take(row)
        yield rrset_text(row, "@" if row[0] == zone.name else row[0][:cut])
    if chain is not None:
        yield from chain.lines()


def rrset_text(row: Row, owner: str, generic: Container[int] = _GENERIC) -> str:
    """Return an RRset as complete lines, with `owner` as the owner name in each line.

    Types in `generic` use the form of RFC 3597. Each RRSIG has its own TTL.
    """
    _, type_, ttl, texts, disabled, comment, notes = row
    if type_ == rdtypes.RRSIG and not (disabled or comment or notes):
        return "".join(f"{owner} {ttl_of_signature(text)} IN RRSIG {text}\n" for text in texts)
    head = f"{owner} {ttl} IN {_mnemonic(type_)} "
    if disabled or comment or notes or type_ in generic:
        return "".join(_special_lines(row, owner, head, is_generic=type_ in generic))
    return head + ("\n" + head).join(texts) + "\n"


def _special_lines(row: Row, owner: str, head: str, *, is_generic: bool) -> Iterator[str]:
    """Yield the lines of an RRset that can't be written as plain record lines.

    Such an RRset has disabled records, a comment, notes, or a type that some servers don't support.
    """
    _, type_, ttl, texts, disabled, comment, notes = row
    if is_generic:
        yield from (f"; {head}{text}\n" for text in texts)
        head = f"{owner} {ttl} IN TYPE{type_} "
    tail = f" ; {_one_line(comment)}" if comment else ""
    for text in texts:
        mark = ";!disabled " if text in disabled else ""
        yield f"{mark}{head}{generic_text(type_, text) if is_generic else text}{tail}\n"
        tail = ""
    if notes:
        yield noted_line(owner, _mnemonic(type_), notes)


def generic_text(type: int, text: str) -> str:
    """Return rdata in the form of RFC 3597, which every server can read for any type."""
    wire = rdata.to_wire(type, text)
    return f"\\# {len(wire)} {wire.hex()}"


def _one_line(comment: str) -> str:
    """Return a comment with its line breaks and control characters replaced by spaces."""
    return _UNFIT_FOR_COMMENTS.sub(" ", comment).strip()


@cache
def _mnemonic(type: int) -> str:
    return rdata.type_to_text(type)


def file_name(zone: str) -> str:
    """Return a unique file name for the zone. It is valid on all file systems.

    Characters other than letters, digits, `.`, `_` and `-` become `=HH`. A very long name is cut and ends with a digest
    of the full name.
    """
    stem = "=2E" if zone == names.ROOT else _UNSAFE.sub(lambda found: f"={ord(found[0]):02X}", zone[:-1])
    if len(stem) > _MOST_FILE_NAME - len(".zone"):
        stem = f"{stem[:_KEPT_OF_LONG]}~{hashlib.sha256(zone.encode()).hexdigest()[:16]}"
    return stem + ".zone"


def _path(zone: str) -> str:
    return f"{DIRECTORY}/{file_name(zone)}"


def _quoted_name(zone: str) -> str:
    r"""Return the name in a form that is safe inside quotes.

    A quote inside the name becomes `\034`, because some parsers don't accept `\"`.
    """
    return zone.replace('\\"', "\\034")


def named_conf(zones: Iterable[str]) -> Iterator[str]:
    """Yield zone statements for BIND's named.conf, with which BIND only warns about invalid host names."""
    yield f"// Zones for BIND 9: include this file in named.conf. {LISTS_HELP}\n"
    for zone in zones:
        yield f'zone "{_quoted_name(zone)}" {{ type primary; file "{_path(zone)}"; check-names warn; }};\n'


def nsd_conf(zones: Iterable[str]) -> Iterator[str]:
    """Yield zone clauses for NSD's nsd.conf."""
    yield f"# Zones for NSD: include this file in nsd.conf, with zonesdir set. {LISTS_HELP}\n"
    for zone in zones:
        yield f'zone:\n    name: "{_quoted_name(zone)}"\n    zonefile: "{_path(zone)}"\n'


def knot_conf(zones: Iterable[str]) -> Iterator[str]:
    """Yield the zone section for Knot DNS's knot.conf."""
    yield f"# Zones for Knot DNS: include this file in knot.conf, with storage set. {LISTS_HELP}\nzone:\n"
    for zone in zones:
        yield f'  - domain: "{_quoted_name(zone)}"\n    file: "{_path(zone)}"\n'


LISTS = {"named.conf": named_conf, "nsd.conf": nsd_conf, "knot.conf": knot_conf}


class ZoneArchive:
    """A writer of tar archives with zone files. At most one zone is in memory, and a large zone is buffered on disk."""

    def __init__(self, out: Out, mtime: int) -> None:
        self._out = out
        self._mtime = mtime
        self._text = cast(IO[bytes], SpooledTemporaryFile(_TEXT_IN_MEMORY))  # noqa: SIM115

    def add_zone(self, zone: ExportedZone) -> None:
        self.add_file(_path(zone.name), zone_lines(zone))

    def add_file(self, path: str, lines: Iterable[str]) -> None:
        text = self._text
        text.seek(0)
        text.truncate()
        for chunk in _join_lines(lines):
            text.write(chunk)
        size = text.tell()
        text.seek(0)
        self._out.write(_header(path, size, self._mtime))
        while block := text.read(1 << 20):
            self._out.write(block)
        self._out.write(bytes(-size % _BLOCK))

    def close(self) -> None:
        """Write the end of the archive."""
        self._out.write(bytes(2 * _BLOCK))
        self._text.close()


def _join_lines(lines: Iterable[str], most: int = 1000) -> Iterator[bytes]:
    """Join lines into larger pieces, and yield them as bytes."""
    iterator = iter(lines)
    pending: list[str] = []
    for line in iterator:
        pending.append(line)
        if len(pending) >= most:
            yield "".join(pending).encode()
            pending.clear()
    yield "".join(pending).encode()


def _header(path: str, size: int, mtime: int) -> bytes:
    """Return a tar header (ustar) like `tarfile`'s, but without its slow checks of the fields."""
    fields = (
        path.encode().ljust(100, b"\0"),
        b"0000644\0",
        b"0000000\0",
        b"0000000\0",
        _octal(size),
        _octal(mtime),
        b"        ",
        b"0",
        bytes(100),
        b"ustar\00000",
        bytes(247),
    )
    header = b"".join(fields)
    return b"%b%06o\0 %b" % (header[:148], sum(header), header[156:])


def _octal(number: int) -> bytes:
    """Return a size in 12 bytes, as octal digits or in GNU's binary form if the size needs more digits."""
    return b"%011o\0" % number if number < 8**11 else b"\x80" + number.to_bytes(11, "big")
