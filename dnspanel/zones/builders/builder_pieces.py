"""The parts of builders: form fields, and pieces that change some values of an RRset and keep the others. Pure."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from dnspanel.zones.errors import BadFields
from dnspanel.zones.rules import mail_rules
from dnspanel.zones.typed.fields import Field, quote_text, word_of
from replication.dns import names, rdata, rdtypes
from replication.dns.rrset import NO_NOTES, Key, RRset, make
from replication.errors import ReplicationError

Values = Mapping[str, str]
Present = Mapping[Key, RRset]  # the RRsets that a builder reads, with the author's draft


@dataclass(frozen=True, slots=True)
class Piece:
    """New values for one RRset (possibly none), which replace the values selected by `replaces`."""

    name: str
    type: int
    texts: tuple[str, ...]
    replaces: Callable[[str], bool] = lambda text: True

    @property
    def key(self) -> Key:
        return self.name, self.type


class Builder(Protocol):
    """A form that creates the records for one purpose. `owner` is the records' absolute name."""

    @property
    def key(self) -> str:
        """The builder's key in URLs."""

    @property
    def title(self) -> str:
        """The builder's name on pages."""

    @property
    def purpose(self) -> str:
        """A sentence that describes the builder's purpose."""

    @property
    def fields(self) -> tuple[Field, ...]:
        """The fields of the form."""

    def keys(self, owner: str, values: Values) -> Sequence[Key]:
        """Return the keys of the RRsets that the builder reads or changes."""

    def read(self, owner: str, present: Present) -> dict[str, str]:
        """Return the field values from existing records. Fields that no record contains are omitted."""

    def pieces(self, owner: str, values: Values, present: Present) -> Sequence[Piece]:
        """Return the pieces for the field values. Raise BadFields if a value is invalid."""


def build_rrsets(builder: Builder, owner: str, values: Values, present: Present, default_ttl: int) -> list[RRset]:
    """Return the RRsets that the builder changes, with their new values. Raise BadFields with all invalid fields."""
    faults = {}
    for field in builder.fields:
        try:
            word_of(field, values.get(field.name, ""), owner)
        except ValueError as exc:
            faults[field.name] = str(exc)
    if faults:
        raise BadFields(faults)
    found = []
    for piece in builder.pieces(owner, values, present):
        current = present.get(piece.key)
        rrset = _with_piece(piece, current, default_ttl)
        if rrset != current:
            found.append(rrset)
    return found


def _with_piece(piece: Piece, current: RRset | None, default_ttl: int) -> RRset:
    kept = [text for text in current.rdata if not piece.replaces(text)] if current else []
    off = [text for text in current.disabled if text in kept] if current else []
    ttl, comment, notes = (current.ttl, current.comment, current.notes) if current else (default_ttl, "", NO_NOTES)
    try:
        return make(piece.name, piece.type, ttl, (*kept, *piece.texts), off, comment, notes=notes)
    except ReplicationError as exc:
        raise BadFields({"": str(exc)[:1].upper() + str(exc)[1:] + "."}) from exc


def below(label: str, owner: str) -> str:
    """Return the absolute name of a label below `owner`."""
    return names.parse(label, owner)


def txt(text: str) -> str:
    """Return TXT rdata for this text, split into strings of at most 255 bytes."""
    return rdata.parse(rdtypes.TXT, quote_text(text.replace("\\", "\\\\")))


def texts_that(current: RRset | None, begins: Callable[[str], bool]) -> list[str]:
    """Return the texts of served TXT records that pass the test `begins`. The strings of a record are joined."""
    texts = [mail_rules.text_of(current.type, record) for record in current.served] if current else []
    return [text for text in texts if begins(text)]


def begins_with(prefix: str) -> Callable[[str], bool]:
    """Return a test for texts with a prefix such as `v=DMARC1`. Case and spaces are ignored."""
    lowered = prefix.lower()
    return lambda text: text.lower().replace(" ", "").startswith(lowered)


def of_records(begins: Callable[[str], bool]) -> Callable[[str], bool]:
    """Convert a test for texts into a test for TXT rdata."""
    return lambda record: begins(mail_rules.text_of(rdtypes.TXT, record))


def tags_of(text: str) -> dict[str, str]:
    """Parse tags such as `v=DMARC1; p=none`, in order. Tag names are converted to lowercase."""
    pairs = (part.partition("=") for part in text.split(";") if part.strip())
    return {tag.strip().lower(): value.strip() for tag, _, value in pairs}


def format_tags(tags: Iterable[tuple[str, str]]) -> str:
    """Format tags as text. Omit tags without a value."""
    return "; ".join(f"{tag}={value}" for tag, value in tags if value)


def items_of(text: str) -> list[str]:
    """Split a list at commas and whitespace."""
    return [item for item in text.replace(",", " ").split() if item]
