"""Tests of the division of conditions into causes and consequences."""

import pytest

from dnspanel.alerts.causes import CONSEQUENCES, OF_NODES_AHEAD, WAITS, split
from dnspanel.conditions import Condition, Severity, kinds


def trouble(kind: str, node_id: int | None = None, of: str = "") -> Condition:
    return Condition(kind + of, kind, Severity.WARNING, "", node_id)


def test_the_table_names_kinds_that_there_are() -> None:
    named = {kind for kinds in CONSEQUENCES.values() for kind in kinds} | OF_NODES_AHEAD
    of_kinds = {cause for cause in CONSEQUENCES if ":" not in cause} - {WAITS}
    assert named | of_kinds <= kinds().keys()


@pytest.mark.parametrize("cause", [cause for cause in CONSEQUENCES if cause != WAITS])
def test_what_follows_from_a_cause_is_none_of_its_own(cause: str) -> None:
    consequences = [trouble(kind, 1) for kind in sorted(CONSEQUENCES[cause])]
    kind, colon, name = cause.partition(":")
    first = trouble(kind, of=colon + name)
    own, rest = split([first, *consequences, trouble("node.disk", 1)])
    assert own == [first, trouble("node.disk", 1)]
    assert rest == [(cause, each) for each in consequences]


def test_without_the_cause_each_is_wrong_by_itself() -> None:
    found = [trouble(kind, 1) for kind in sorted(CONSEQUENCES["panel.redis"])]
    assert split(found) == (found, [])


def test_no_cause_is_lost_with_another_one() -> None:
    """Every dropped condition has a cause that remains or that will become an alert."""
    found = [trouble(kind) for kind in kinds()]
    own, rest = split(found)
    assert rest
    assert {cause for cause, _ in rest} <= {each.kind for each in own}


def test_a_cause_that_is_no_alert_yet_explains_as_well() -> None:
    late = trouble("node.late", 1)
    assert split([late], also={WAITS}) == ([], [(WAITS, late)])


def test_of_a_hold_only_nodes_that_know_more_are_part() -> None:
    hold, mine, other = trouble("panel.held"), trouble("node.digest", 1), trouble("node.digest", 2)
    assert split([hold, mine, other], ahead={1}) == ([hold, other], [("panel.held", mine)])
