"""Tests of the plan for a catalog's members, which is computed from values alone."""

import pytest

from dnspanel.catalogs.member_plan import FEW, Known, most_leaving, plan_members, rule_of
from dnspanel.transfer.sources.catalog_members import Member


def known(label: str = "a", *, groups: tuple[str, ...] = (), coo: str = "", is_here: bool = True) -> Known:
    return Known(label, groups, coo, is_here)


def test_zones_come_leave_begin_anew_and_are_retold() -> None:
    listed = {
        "stays.": Member("stays.", (), "a"),
        "reset.": Member("reset.", (), "new"),
        "group.": Member("group.", ("x",), "a"),
        "coo.": Member("coo.", (), "a", "other."),
        "comes.": Member("comes.", (), "a"),
        "again.": Member("again.", (), "a"),
    }
    before = {
        **dict.fromkeys(("stays.", "reset.", "group.", "coo.", "leaves."), known()),
        "again.": known(is_here=False),
        "forgotten.": known(is_here=False),
    }
    plan = plan_members(listed, before, most_lost=20, is_confirmed=False)
    assert plan.leave == ("leaves.",)
    assert plan.forget == ("forgotten.",)
    assert plan.come == ("again.", "comes.")
    assert plan.reset == ("reset.",)
    assert plan.retold == ("coo.", "group.")
    assert not plan.keeps


@pytest.mark.parametrize(
    ("members", "left", "most_lost", "is_confirmed", "keeps"),
    [
        (10, FEW, 20, False, False),
        (10, FEW + 1, 20, False, True),
        (10, 10, 20, True, False),
        (100, 20, 20, False, False),
        (100, 21, 20, False, True),
        (100, 100, 100, False, False),
        (100, FEW + 1, 0, False, True),
    ],
)
def test_more_than_a_share_leaves_only_if_a_person_confirms_it(
    members: int, left: int, most_lost: int, is_confirmed: bool, keeps: bool
) -> None:
    before = {f"{number}.": known() for number in range(members)}
    listed = {f"{number}.": Member(f"{number}.", (), "a") for number in range(members - left)}
    plan = plan_members(listed, before, most_lost=most_lost, is_confirmed=is_confirmed)
    assert plan.keeps is keeps
    assert len(plan.leave) == left


def test_what_was_never_here_does_not_count_for_the_share() -> None:
    before = {f"{number}.": known(is_here=False) for number in range(100)}
    assert not plan_members({}, before, most_lost=20, is_confirmed=False).keeps
    assert most_leaving(0, 20) == FEW


def test_the_first_rule_about_one_of_the_groups_counts() -> None:
    rules = [(1, "gold"), (2, "silver")]
    assert rule_of(["silver", "gold"], rules) == 1
    assert rule_of(["silver"], rules) == 2
    assert rule_of(["bronze"], rules) is None
    assert rule_of([], rules) is None
