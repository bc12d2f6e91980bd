"""Tests of the size limit of a request to a node."""

import pytest

from replication.errors import Busy, Gap, NodeUnreachable, NotServed, ReplicationError
from replication.pace import MOST_SEGMENTS, Pace, is_by_time


def unserved(found: str) -> NotServed:
    return NotServed(question="www.test. A", expected="an answer", found=found)


def test_after_a_failure_by_time_a_request_has_half_as_much_and_then_more_again() -> None:
    pace = Pace()
    assert not pace.is_slow
    pace.note_failure(unserved("none"), 94)
    assert (pace.most, pace.is_slow) == (47, True)
    pace.note_failure(unserved("none"), 3)
    assert pace.most == 1
    pace.note_failure(unserved("none"), 1)
    assert pace.most == 1
    for _ in range(25):
        pace.note_answer()
    assert (pace.most, pace.is_slow) == (MOST_SEGMENTS, False)


@pytest.mark.parametrize(
    ("error", "is_so"),
    [
        (unserved("none"), True),
        (unserved("SERVFAIL"), False),
        (Busy(what="the agent"), True),
        (NodeUnreachable(host="ns1", port=1, reason="The read operation timed out"), True),
        (NodeUnreachable(host="ns1", port=1, reason="Connection refused"), False),
        (Gap(have=None, got=3), False),
    ],
)
def test_what_failed_by_time(error: ReplicationError, is_so: bool) -> None:
    pace = Pace()
    pace.note_failure(error, 10)
    assert (is_by_time(error), pace.is_slow) == (is_so, is_so)
