"""Tests of the tree of errors."""

import pickle
from uuid import UUID

import pytest

from replication import errors
from replication.errors import ReplicationError
from replication.wire.position import Position

EPOCH = UUID(int=1)
EXAMPLES: list[ReplicationError] = [
    errors.Gap(have=None, got=3),
    errors.Gap(have=Position(EPOCH, 7), got=9),
    errors.UnknownSealingKey(sealing_key=7),
    errors.NodeUnreachable(host="ns1.test", port=8443, reason="refused"),
    errors.NotServed(question="www.test. A", expected="192.0.2.1", found="nothing"),
    errors.Busy(what="the store"),
    errors.BadName(text="a..b", reason="the name has an empty label"),
    errors.BadRdata(type=1, text="x", reason="the address x is not a valid IPv4 address"),
    errors.BadRRset(name="www.test.", type=5, reason="two CNAMEs"),
    errors.BadBytes(what="records", reason="cut"),
    errors.BadSegment(reason="cut"),
    errors.BadSignature(reason="unknown key"),
    errors.WrongCluster(ours=EPOCH, theirs=UUID(int=2)),
    errors.WrongEpoch(ours=EPOCH, theirs=UUID(int=2)),
    errors.UnknownSchema(schema=3),
    errors.Diverged(expected=b"\1", found=b"\2"),
    errors.MapFull(path="pdns.lmdb", map_size=1 << 20),
    errors.NodeAhead(node=Position(EPOCH, 9), head=Position(EPOCH, 7)),
]


@pytest.mark.parametrize("error", EXAMPLES, ids=lambda error: type(error).__name__)
def test_an_error_survives_the_way_between_workers(error: ReplicationError) -> None:
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error)
    assert str(copy) == str(error)
    assert copy.__dict__ == error.__dict__


@pytest.mark.parametrize("error", EXAMPLES, ids=lambda error: type(error).__name__)
def test_every_error_knows_whether_to_try_again(error: ReplicationError) -> None:
    assert isinstance(error, errors.Transient) != isinstance(error, errors.Permanent)


def test_every_error_is_in_the_drawn_tree() -> None:
    for error in EXAMPLES:
        assert f"── {type(error).__name__} " in (errors.__doc__ or "")


def test_errors_carry_their_attributes() -> None:
    assert str(EXAMPLES[1]) == "the node is at sequence 7, so it can’t apply a segment that starts at 9"
    assert "1 MiB" in str(errors.MapFull(path="x", map_size=1 << 20))


def test_long_texts_are_shortened() -> None:
    assert len(str(errors.BadName(text="a" * 1000, reason="long"))) < 130
