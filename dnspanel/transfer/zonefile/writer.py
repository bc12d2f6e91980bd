"""Write a zone's text record by record, for sources that are not zone files. The parser reads this text.

Each record is a line `name. ttl IN TYPE rdata`. A disabled record is a line `;!disabled name. ttl IN TYPE rdata`. An
RRset's comment is at the end of its first line.
"""

from dnspanel.texts import gettext
from dnspanel.transfer import import_limits
from dnspanel.transfer.documents import Document, SourceFault
from replication.dns import rdata
from replication.errors import BadRdata

_CHUNK_LINES = 4096


class ZoneText:
    """Collector of one zone's lines, which stops at the size limit to limit memory use."""

    def __init__(self, zone: str) -> None:
        self.zone = zone
        self.records = 0
        self._lines: list[str] = []
        self._text = bytearray()

    def add(
        self, name: str, ttl: int | str, type: str, rdata: str, *, disabled: bool = False, comment: str = ""
    ) -> None:
        """Add one record. `name` and names in `rdata` must be absolute. The arguments must not contain line breaks."""
        self.records += 1
        self._lines.append(
            f"{';!disabled ' if disabled else ''}{name} {ttl} IN {type} {rdata}{' ; ' + comment if comment else ''}\n"
        )
        if len(self._lines) >= _CHUNK_LINES:
            self._flush()

    @property
    def is_too_large(self) -> bool:
        """True if the zone exceeds the size limit. Further records are dropped."""
        return len(self._text) > import_limits.MOST_DOCUMENT_BYTES

    def document(self, path: str) -> Document | SourceFault:
        """Return the zone's document, or a fault if the zone exceeds the size limit."""
        self._flush()
        if self.is_too_large:
            return SourceFault(
                path,
                0,
                0,
                "",
                gettext("the zone is too large: {title}").format(title=import_limits.title("document")),
                "too-large",
                zone=self.zone,
            )
        return Document(path, bytes(self._text), self.zone)

    def _flush(self) -> None:
        if not self.is_too_large:
            # Data from a database can be invalid UTF-8. The parser reports that at the affected line.
            self._text += "".join(self._lines).encode("utf-8", "surrogateescape")
        self._lines.clear()


def wire_text(type: int, wire: bytes) -> str:
    """Return rdata as text. Invalid rdata gets the generic form (RFC 3597), and the parser then rejects its line."""
    try:
        return rdata.from_wire(type, wire)
    except BadRdata:
        return f"\\# {len(wire)} {wire.hex()}"


def comment_text(comments: list[str]) -> str:
    """Join all comments of one RRset into one line, without duplicates."""
    flat = (" ".join(comment.split()) for comment in comments)
    return "; ".join(dict.fromkeys(comment for comment in flat if comment))
