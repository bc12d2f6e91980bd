"""Positions can be compared only within one history of the log."""

from uuid import UUID

import pytest

from replication.errors import BadBytes, WrongEpoch
from replication.wire.position import Position, parse_position, position_from_json

EPOCH = UUID("e1000000-0000-4000-8000-000000000001")
OTHER = UUID("e2000000-0000-4000-8000-000000000002")


def test_positions_of_one_epoch_compare_by_sequence() -> None:
    assert Position(EPOCH, 1) < Position(EPOCH, 2) <= Position(EPOCH, 2)
    assert Position(EPOCH, 3) > Position(EPOCH, 2) >= Position(EPOCH, 2)


@pytest.mark.parametrize("compare", [Position.__lt__, Position.__le__, Position.__gt__, Position.__ge__])
def test_comparing_positions_of_two_epochs_raises(compare: object) -> None:
    with pytest.raises(WrongEpoch):
        compare(Position(EPOCH, 1), Position(OTHER, 2))  # type: ignore[operator]


def test_positions_of_two_epochs_are_unequal() -> None:
    assert Position(EPOCH, 1) != Position(OTHER, 1)


def test_a_position_survives_text_and_json() -> None:
    position = Position(EPOCH, 42)
    assert str(position) == f"epoch={EPOCH} sequence=42"
    assert parse_position(str(position)) == position == position_from_json(position.to_json())


@pytest.mark.parametrize(
    "text", ["", "no position", f"epoch={EPOCH}", f"epoch={EPOCH} sequence=-1", "epoch=x sequence=1"]
)
def test_other_text_is_refused(text: str) -> None:
    with pytest.raises(BadBytes):
        parse_position(text)


@pytest.mark.parametrize(
    "fields", [{}, {"epoch": str(EPOCH)}, {"epoch": 3, "sequence": 1}, {"epoch": "x", "sequence": 1}]
)
def test_other_json_is_refused(fields: dict[str, object]) -> None:
    with pytest.raises(BadBytes):
        position_from_json(fields)


def test_a_sequence_is_never_negative() -> None:
    with pytest.raises(ValueError, match="2\\^63"):
        Position(EPOCH, -1)
