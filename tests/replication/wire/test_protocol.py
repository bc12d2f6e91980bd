"""Messages don't change in transit, and refusals arrive as the errors that were raised."""

from dataclasses import replace
from uuid import UUID

import pytest

from replication.errors import (
    BadBytes,
    Busy,
    DiskFull,
    Diverged,
    Gap,
    MapFull,
    NotServed,
    Permanent,
    Refused,
    ReplicationError,
    Transient,
    WrongCluster,
)
from replication.wire.position import Position
from replication.wire.protocol import (
    Ack,
    Sample,
    Status,
    decode_message,
    decode_refusal,
    encode_message,
    encode_refusal,
)

EPOCH = UUID("e1000000-0000-4000-8000-000000000001")
HERE = Position(EPOCH, 41)


def test_an_ack_survives() -> None:
    ack = Ack(HERE, b"m" * 16, b"r" * 16, 1.25, 0.5, 3.0)
    assert Ack.from_json(decode_message(encode_message(ack.to_json()))) == ack
    assert ack.place == HERE
    later = replace(ack, applied=Position(EPOCH, 43))
    assert Ack.from_json(decode_message(encode_message(later.to_json()))) == later
    assert later.place == Position(EPOCH, 43)


def test_a_status_survives() -> None:
    status = Status("ns1", HERE, b"m" * 16, b"r" * 16, 4, "in order", answered=HERE, versions={"lmdb": "0.9.36"})
    assert Status.from_json(decode_message(encode_message(status.to_json()))) == status
    new = Status("ns1", None, bytes(16), bytes(16), 6, "new: nothing applied yet")
    assert Status.from_json(decode_message(encode_message(new.to_json()))) == new


def test_a_newer_agent_may_say_more() -> None:
    message = Status("ns1", HERE, b"m" * 16, b"r" * 16, 4, "in order").to_json() | {"moon": "full"}
    assert Status.from_json(message).position == HERE


def test_a_sample_survives_and_knows_its_rates() -> None:
    sample = Sample(1_795_000_000, 0.5, 60, 90, 10, {"NOERROR": 99}, 75, 25, 5, 6, 120, 1 << 20)
    assert Sample.from_json(decode_message(encode_message(sample.to_json()))) == sample
    assert sample.qps == 200
    assert sample.cache_hit_rate == 0.75


def test_a_gap_has_no_rates() -> None:
    gap = Sample(1_795_000_000, 0.0, 0, 0, 0, {}, 0, 0, 0, 0, 0, 0)
    assert gap.qps is None
    assert gap.cache_hit_rate is None


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (Gap(have=HERE, got=44), 409),
        (NotServed(question="www.test. A", expected="1 records", found="REFUSED"), 503),
        (Busy(what="the agent"), 503),
        (DiskFull(path="/data", reason="no space"), 503),
    ],
)
def test_what_may_be_tried_again_comes_back_as_itself(error: ReplicationError, status: int) -> None:
    code, body = encode_refusal(error, HERE)
    found = decode_refusal(code, body)
    assert code == status
    assert type(found) is type(error)
    assert isinstance(found, Transient)
    assert str(found) == str(error)


def test_a_gap_carries_the_position_of_the_node() -> None:
    found = decode_refusal(*encode_refusal(Gap(have=HERE, got=44), HERE))
    assert isinstance(found, Gap)
    assert (found.have, found.got) == (HERE, 44)
    new = decode_refusal(*encode_refusal(Gap(have=None, got=44), None))
    assert isinstance(new, Gap)
    assert new.have is None


@pytest.mark.parametrize(
    "error",
    [
        Diverged(expected=b"e" * 16, found=b"f" * 16),
        MapFull(path="/data", map_size=1 << 20),
        WrongCluster(ours=EPOCH, theirs=UUID(int=1)),
    ],
)
def test_what_needs_a_person_comes_back_with_the_agents_message(error: ReplicationError) -> None:
    code, body = encode_refusal(error, HERE)
    found = decode_refusal(code, body)
    assert code == 422
    assert isinstance(found, Refused)
    assert isinstance(found, Permanent)
    assert (found.error, str(found)) == (type(error).__name__, str(error))


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>",
        b"[]",
        b"{}",
        b'{"error":1}',
        b'{"error":"Gap","message":"m","got":"many"}',
        b'{"error":"Gap","message":"m","got":null}',
        b'{"error":"Gap","message":"m","position":"here"}',
        b'{"error":"UnknownSealingKey","message":"m","sealing_key":[]}',
        b'{"error":"UnknownSealingKey","message":"m","sealing_key":Infinity}',
    ],
)
def test_an_answer_that_is_no_refusal_is_an_error_too(body: bytes) -> None:
    assert isinstance(decode_refusal(502, body), BadBytes)


@pytest.mark.parametrize("message", [{}, {"position": None}, {"position": HERE.to_json(), "digests": ["zz"], "ms": []}])
def test_a_broken_ack_is_refused(message: dict[str, object]) -> None:
    with pytest.raises(BadBytes):
        Ack.from_json(message)


def test_broken_json_is_refused() -> None:
    with pytest.raises(BadBytes):
        decode_message(b"{")
    with pytest.raises(BadBytes):
        decode_message(b"[" * 10_000)
    with pytest.raises(BadBytes):
        Sample.from_json([1, 2])
    with pytest.raises(BadBytes):
        Status.from_json({"node": "ns1"})
