"""Tests of node health: a word and a sentence that are computed from numbers."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from dnspanel.fleet.models import NodeState
from dnspanel.fleet.node_health import HealthInputs, Word, health

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
EPOCH = UUID(int=1)
LIVE = HealthInputs(
    state=NodeState.ACTIVE,
    epoch=EPOCH,
    acked=41,
    moved_at=NOW - timedelta(hours=1),
    contact_at=NOW - timedelta(seconds=2),
    refusal="",
    head_epoch=EPOCH,
    head=41,
    behind_since=None,
)
BEHIND = replace(LIVE, head=44)


@pytest.mark.parametrize(
    ("facts", "word"),
    [
        (LIVE, Word.LIVE),
        (replace(BEHIND, behind_since=NOW - timedelta(seconds=2)), Word.CATCHING_UP),
        (replace(BEHIND, behind_since=NOW - timedelta(seconds=20)), Word.LATE),
        (replace(BEHIND, behind_since=NOW - timedelta(minutes=20)), Word.STALE),
        (replace(BEHIND, behind_since=NOW - timedelta(minutes=20), moved_at=NOW), Word.CATCHING_UP),
        (replace(LIVE, contact_at=NOW - timedelta(seconds=60)), Word.OFFLINE),
        (replace(LIVE, contact_at=None), Word.OFFLINE),
        (replace(LIVE, refusal="disk full"), Word.REJECTING),
        (replace(LIVE, refusal="disk full", contact_at=None), Word.REJECTING),
        (replace(LIVE, state=NodeState.DRAINED, refusal="disk full"), Word.DRAINED),
        (replace(LIVE, state=NodeState.AWAITING_APPROVAL, contact_at=None), Word.WAITING),
        (replace(LIVE, state=NodeState.RETIRED), Word.RETIRED),
    ],
)
def test_the_word_is_the_one_that_matters_most(facts: HealthInputs, word: Word) -> None:
    assert health(facts, NOW).word == word


def test_a_node_that_is_offline_says_why() -> None:
    problem = "the node’s clock is 400 days ahead, so the node considers the panel’s certificate to be expired"
    silent = replace(LIVE, contact_at=NOW - timedelta(seconds=60), contact_problem=problem)
    assert health(silent, NOW).message == f"No contact for 60 s: {problem}. The node still serves sequence 41."
    never = replace(silent, contact_at=None)
    assert health(never, NOW).message == f"The panel hasn’t reached the node’s agent yet: {problem}."
    assert health(replace(silent, contact_problem=""), NOW).message.startswith("No contact for 60 s.")


def test_lag_is_told_in_changes_and_seconds() -> None:
    found = health(replace(BEHIND, behind_since=NOW - timedelta(seconds=20)), NOW)
    assert (found.lag, found.lag_seconds) == (3, 20.0)
    assert "sequence 41 of 44" in found.message


def test_a_node_of_another_epoch_lacks_everything_of_this_one() -> None:
    assert health(replace(LIVE, epoch=UUID(int=2)), NOW).lag == 41


def test_a_clock_that_was_set_back_gives_no_negative_lag() -> None:
    found = health(replace(BEHIND, behind_since=NOW + timedelta(days=1), contact_at=NOW + timedelta(days=1)), NOW)
    assert (found.word, found.lag_seconds) == (Word.CATCHING_UP, 0.0)


def test_a_refusal_is_told_in_its_own_words() -> None:
    assert "disk full" in health(replace(LIVE, refusal="disk full"), NOW).message


def test_a_change_on_its_way_does_not_make_a_live_node_blink() -> None:
    found = health(replace(LIVE, head=42, behind_since=NOW - timedelta(milliseconds=80)), NOW)
    assert (found.word, found.lag) == (Word.LIVE, 1)
    assert "42 is on the way" in found.message
