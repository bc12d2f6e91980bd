"""Read uploaded text files, compressed or not, line by line as UTF-8.

Bytes that aren't UTF-8 are reported by offset.
"""

import codecs
import itertools
from collections.abc import Iterator
from pathlib import Path

from dnspanel.texts import gettext
from dnspanel.transfer.archives.decompress import Damaged, Meter, compression_of, unpacked_chunks
from dnspanel.transfer.archives.zip_reader import is_zip
from dnspanel.transfer.errors import SourceRefused

# If more lines than this are not UTF-8, the reason is not typos: the file has another encoding.
_MOST_BAD_LINES = 100
_BOM = b"\xef\xbb\xbf"


class TextFile:
    """A text file of an upload. `bad` maps the numbers of lines that aren't UTF-8 to offsets in the unpacked text."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.size = path.stat().st_size
        self._meter = Meter(self.size)
        self.bad: dict[int, int] = {}
        self._bom_size = 0

    @property
    def read(self) -> int:
        return min(self.size, self._meter.read)

    def lines(self, most_bytes: int) -> Iterator[str]:
        """Yield each line with its line end. Bytes that aren't UTF-8 become lone surrogates (`surrogateescape`).

        Raise SourceRefused if the file isn't text, is damaged, has too many lines that aren't UTF-8, or has a line of
        more than `most_bytes`. Raise UploadRefused for an archive bomb.
        """
        self._meter = Meter(self.size)
        self.bad = {}
        offset = 0
        for number, line in enumerate(self._byte_lines(most_bytes), 1):
            try:
                yield line.decode()
            except UnicodeDecodeError as exc:
                self._note_bad(number, self._bom_size + offset + exc.start, line[exc.start])
                yield line.decode("utf-8", "surrogateescape")
            offset += len(line)

    def pieces(self) -> Iterator[str]:
        """Yield the text in pieces of any length.

        Raise SourceRefused if the file isn't text, isn't UTF-8 (with the offset of the first wrong byte) or is damaged.
        Raise UploadRefused for an archive bomb.
        """
        self._meter = Meter(self.size)
        decoder = codecs.getincrementaldecoder("utf-8")()
        offset = 0
        for chunk in itertools.chain(self._chunks(), (b"",)):
            kept = len(decoder.getstate()[0])
            try:
                text = decoder.decode(chunk, final=not chunk)
            except UnicodeDecodeError as exc:
                at = self._bom_size + offset - kept + exc.start
                raise SourceRefused(
                    gettext("The file must be UTF-8. The byte at offset {at:,} is invalid.").format(at=at)
                ) from exc
            offset += len(chunk)
            if text:
                yield text

    def _note_bad(self, number: int, offset: int, byte: int) -> None:
        self.bad[number] = offset
        if len(self.bad) > _MOST_BAD_LINES:
            line, first = next(iter(self.bad.items()))
            raise SourceRefused(
                gettext(
                    "The file must be UTF-8. The first invalid byte is at offset {first:,} (line {line:,}), and the "
                    "last one is 0x{byte:02x} at offset {offset:,}."
                ).format(first=first, line=line, byte=byte, offset=offset)
            )

    def _byte_lines(self, most_bytes: int) -> Iterator[bytes]:
        rest = b""
        for chunk in self._chunks():
            lines = (rest + chunk).splitlines(keepends=True) if b"\r" not in chunk else _lines_of(rest + chunk)
            rest = lines.pop() if not lines[-1].endswith(b"\n") else b""
            if len(rest) > most_bytes:
                raise SourceRefused(
                    gettext("The file isn’t a text file. One line is longer than {value} MiB.").format(
                        value=most_bytes >> 20
                    )
                )
            yield from lines
        if rest:
            yield rest

    def _chunks(self) -> Iterator[bytes]:
        with self._path.open("rb", buffering=0) as file:
            first = file.read(512)
            file.seek(0)
            if is_zip(first):
                raise SourceRefused(
                    gettext("The file is a zip archive. Unpack it, or compress its content with gzip instead.")
                )
            try:
                chunks = unpacked_chunks(file, compression_of(first), self._meter)
                begun = next(chunks, b"")
                self._bom_size = len(_BOM) if begun.startswith(_BOM) else 0
                yield from itertools.chain((_checked_beginning(begun),) if begun else (), chunks)
            except Damaged as exc:
                raise SourceRefused(gettext("The file is damaged: {exc}. Upload it again.").format(exc=exc)) from exc


def _checked_beginning(chunk: bytes) -> bytes:
    if chunk.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise SourceRefused(gettext("The file is UTF-16. Save it as UTF-8."))
    if (at := chunk.find(b"\0")) >= 0:
        raise SourceRefused(
            gettext("The file isn’t a text file. The byte at offset {at:,} is a null byte.").format(at=at)
        )
    return chunk.removeprefix(_BOM)


def _lines_of(text: bytes) -> list[bytes]:
    """Split text into lines at line feeds only, because a lone carriage return can be part of a quoted cell."""
    lines = text.split(b"\n")
    last = lines.pop()
    return [line + b"\n" for line in lines] + ([last] if last else [])
