"""Tests of the reaction to each error of a push."""

from collections.abc import Iterator
from uuid import uuid4

import pytest

from dnspanel.fleet.push.outcome import Outcome, Refusal, SendSnapshot, TryAgain, outcome_of
from dnspanel.publish.errors import DamagedObject, SegmentsAhead, StorageUnreachable
from replication import errors
from replication.errors import ReplicationError
from replication.wire.position import Position

OURS, THEIRS = uuid4(), uuid4()
NOT_SERVED = errors.NotServed(question="a.test. A", expected="one", found="nothing")
AHEAD = errors.NodeAhead(node=Position(OURS, 7), head=Position(OURS, 5))
OTHER_EPOCH = errors.WrongEpoch(ours=OURS, theirs=THEIRS)
DIVERGED = errors.Diverged(expected=b"a", found=b"b")

OUTCOMES: list[tuple[ReplicationError, Outcome]] = [
    (errors.NodeUnreachable(host="ns1", port=8533, reason="refused"), TryAgain()),
    (errors.Busy(what="the store"), TryAgain()),
    (StorageUnreachable(object_name="segment", reason="timed out"), TryAgain()),
    (errors.NeedsSnapshot(reason="beyond the log"), SendSnapshot("beyond the log")),
    (DamagedObject(object_name="segment", reason="altered"), SendSnapshot("altered")),
    (NOT_SERVED, Refusal(str(NOT_SERVED))),
    (AHEAD, Refusal(str(AHEAD), ahead=Position(OURS, 7))),
    (OTHER_EPOCH, Refusal(str(OTHER_EPOCH), ahead=Position(THEIRS, 0))),
    (DIVERGED, Refusal(str(DIVERGED), repair=True)),
    (errors.Refused(error="Diverged", message="no"), Refusal("no", repair=True)),
    (
        errors.Refused(error="Unfinished", message="no"),
        Refusal("no", snapshot="a snapshot installation was interrupted"),
    ),
    (
        errors.Refused(error="WrongEpoch", message="no"),
        Refusal("no", snapshot="the node has a different log epoch"),
    ),
    (errors.Refused(error="MapFull", message="no"), Refusal("no")),
    (errors.Refused(error="SomethingNewer", message="no"), Refusal("no")),
    (errors.DiskFull(path="pdns.lmdb", reason="no space"), Refusal("pdns.lmdb couldn’t be written: no space")),
    (errors.BadSegment(reason="short"), Refusal("invalid segment: short")),
]


@pytest.mark.parametrize(("error", "outcome"), OUTCOMES, ids=lambda value: type(value).__name__)
def test_each_error_has_its_outcome(error: ReplicationError, outcome: Outcome) -> None:
    assert outcome_of(error, is_ring0=False) == outcome


@pytest.mark.parametrize(("error", "outcome"), OUTCOMES, ids=lambda value: type(value).__name__)
def test_on_ring_0_only_what_is_not_served_accuses_a_publication(error: ReplicationError, outcome: Outcome) -> None:
    expected = Refusal(str(NOT_SERVED), not_served=NOT_SERVED) if error is NOT_SERVED else outcome
    assert outcome_of(error, is_ring0=True) == expected


@pytest.mark.parametrize("is_ring0", [False, True])
def test_what_is_not_served_with_dnssec_alone_may_be_nobodys_fault(is_ring0: bool) -> None:
    error = errors.NotServed(question="a.test. A with DNSSEC", expected="a good signature of its zone", found="none")
    assert outcome_of(error, is_ring0=is_ring0) == Refusal(str(error), error if is_ring0 else None, error)


def test_what_an_agent_refuses_with_is_compared_by_class() -> None:
    assert errors.Refused(error="BadSignature", message="no").was(errors.BadSignature)
    assert not errors.Refused(error="BadSegment", message="no").was(errors.BadSignature)
    assert isinstance(outcome_of(SegmentsAhead(segments=2, head=1), is_ring0=True), Refusal)


def test_every_error_that_a_push_may_meet_is_decided() -> None:
    """A new error class that needs more than a message must be added to the decision, and to this test."""
    displayed_only = {
        "BadBytes",
        "BadName",
        "BadRRset",
        "BadRdata",
        "BadSignature",
        "BadSnapshot",
        "Damaged",
        "Gap",
        "MapFull",
        "NameOutside",
        "Permanent",
        "TooMuch",
        "Transient",
        "UnknownSealingKey",
        "UnknownSchema",
        "Unfinished",
        "WrongClock",
        "WrongCluster",
    }
    decided = {type(error).__name__ for error, _ in OUTCOMES}
    assert {kind.__name__ for kind in _below(ReplicationError) if kind.__module__ == errors.__name__} <= (
        displayed_only | decided
    )


def _below(kind: type[ReplicationError]) -> Iterator[type[ReplicationError]]:
    for sub in kind.__subclasses__():
        yield sub
        yield from _below(sub)
