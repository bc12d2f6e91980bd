"""What builders are made of: fields, and the pieces that they put into RRsets beside what stays there. Pure."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from dnspanel.zones.errors import BadFields
from dnspanel.zones.rules import mail_rules
from dnspanel.zones.typed.fields import Field, quote_text, word_of
from replication.dns import names, rdata, rdtypes
from replication.dns.notes import NO_NOTES
from replication.dns.rrset import Key, RRset, make
from replication.errors import ReplicationError

Values = Mapping[str, str]
Present = Mapping[Key, RRset]  # the RRsets that a builder looks at, as the author sees them


@dataclass(frozen=True, slots=True)
class Piece:
    """Values for one RRset, in place of those that `replaces` picks; no values only take away."""

    name: str
    type: int
    texts: tuple[str, ...]
    replaces: Callable[[str], bool] = lambda text: True

    @property
    def key(self) -> Key:
        return self.name, self.type


class Builder(Protocol):
    """One purpose. `owner` is the absolute name that the records are for."""

    @property
    def key(self) -> str:
        """What its address has."""

    @property
    def title(self) -> str:
        """What people call it."""

    @property
    def purpose(self) -> str:
        """What it is good for, as a sentence."""

    @property
    def fields(self) -> tuple[Field, ...]:
        """The fields of the form."""

    def keys(self, owner: str, values: Values) -> Sequence[Key]:
        """Return the RRsets that the builder reads or changes."""

    def read(self, owner: str, present: Present) -> dict[str, str]:
        """Return the fields as the present records have them, without fields that no record mentions."""

    def pieces(self, owner: str, values: Values, present: Present) -> Sequence[Piece]:
        """Return the pieces that the fields make. Raise BadFields."""


def build_rrsets(builder: Builder, owner: str, values: Values, present: Present, default_ttl: int) -> list[RRset]:
    """Return the RRsets that differ from the present ones. Raise BadFields with the fault of each field."""
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
    """Return the name of this label below the owner."""
    return names.parse(label, owner)


def txt(text: str) -> str:
    """Return the rdata of a TXT with this text, cut into strings of 255 bytes."""
    return rdata.parse(rdtypes.TXT, quote_text(text.replace("\\", "\\\\")))


def texts_that(current: RRset | None, begins: Callable[[str], bool]) -> list[str]:
    """Return the texts of a TXT RRset that begin like this, joined as receivers read them."""
    texts = [mail_rules.text_of(current.type, record) for record in current.served] if current else []
    return [text for text in texts if begins(text)]


def begins_with(prefix: str) -> Callable[[str], bool]:
    """Return a test whether a text begins with a version, in any case: `v=DMARC1`."""
    lowered = prefix.lower()
    return lambda text: text.lower().replace(" ", "").startswith(lowered)


def of_records(begins: Callable[[str], bool]) -> Callable[[str], bool]:
    """Return the same test for the rdata of a TXT."""
    return lambda record: begins(mail_rules.text_of(rdtypes.TXT, record))


def tags_of(text: str) -> dict[str, str]:
    """Parse the tags of `v=DMARC1; p=none`, in lower case and in their order."""
    pairs = (part.partition("=") for part in text.split(";") if part.strip())
    return {tag.strip().lower(): value.strip() for tag, _, value in pairs}


def format_tags(tags: Iterable[tuple[str, str]]) -> str:
    """Format tags as text. Tags without a value are left out."""
    return "; ".join(f"{tag}={value}" for tag, value in tags if value)


def items_of(text: str) -> list[str]:
    """Split a list at commas, spaces or line ends."""
    return [item for item in text.replace(",", " ").split() if item]
