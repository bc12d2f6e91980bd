"""Represent a position in the log of all publications, with its text form. Pure.

Sequences of different epochs count different histories, so comparing them is meaningless and raises an error. Testing
for equality is always allowed.
"""

import re
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from replication.errors import BadBytes, WrongEpoch

_TEXT = re.compile(r"epoch=([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}) sequence=(0|[1-9][0-9]{0,18})")


@dataclass(frozen=True, slots=True)
class Position:
    """A position in the log: everything of this epoch up to and including this sequence is present."""

    epoch: UUID
    sequence: int

    def __post_init__(self) -> None:
        if not 0 <= self.sequence < 2**63:
            raise ValueError(f"a sequence lies in 0..2^63-1, not {self.sequence}")

    def __str__(self) -> str:
        return f"epoch={self.epoch} sequence={self.sequence}"

    def __lt__(self, other: "Position") -> bool:
        return self.sequence < self._same_epoch(other)

    def __le__(self, other: "Position") -> bool:
        return self.sequence <= self._same_epoch(other)

    def __gt__(self, other: "Position") -> bool:
        return self.sequence > self._same_epoch(other)

    def __ge__(self, other: "Position") -> bool:
        return self.sequence >= self._same_epoch(other)

    def _same_epoch(self, other: "Position") -> int:
        if other.epoch != self.epoch:
            raise WrongEpoch(ours=self.epoch, theirs=other.epoch)
        return other.sequence

    def to_json(self) -> dict[str, Any]:
        return {"epoch": str(self.epoch), "sequence": self.sequence}


def parse_position(text: str) -> Position:
    """Parse the output of `str(position)`. Raise BadBytes if the text is invalid."""
    match = _TEXT.fullmatch(text)
    if match is None:
        raise BadBytes(what="position", reason=f"{text[:80]!r} is not of the form epoch=<uuid> sequence=<n>")
    return Position(UUID(match[1]), int(match[2]))


def position_from_json(fields: dict[str, Any]) -> Position:
    """Read a position from the output of `to_json`. Raise BadBytes if the object is invalid."""
    try:
        return Position(UUID(fields["epoch"]), int(fields["sequence"]))
    except (KeyError, TypeError, ValueError, AttributeError) as exc:
        raise BadBytes(what="position", reason=f"{fields!r} is not a position") from exc
