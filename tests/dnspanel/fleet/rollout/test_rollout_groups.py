"""Tests of rollout groups and their order."""

import pytest
from django.utils import timezone

from dnspanel.accounts.models import AuditEntry
from dnspanel.fleet.errors import GroupRefused
from dnspanel.fleet.models import Delivery, Node, NodeGroup
from dnspanel.fleet.rollout import rollout_groups
from dnspanel.zones.errors import Forbidden
from tests.dnspanel.fleet.conftest import MakeNode
from tests.people import make_person

pytestmark = pytest.mark.django_db(transaction=True)


def create(name: str, verify_seconds: int = 0) -> NodeGroup:
    return rollout_groups.create_group(name=name, verify_seconds=verify_seconds, by=None, now=timezone.now())


def names() -> list[str]:
    return [group.name for group in NodeGroup.objects.order_by("order")]


def group_of(node: Node) -> str | None:
    node.refresh_from_db()
    return node.group.name if node.group else None


def test_a_new_group_comes_last_and_takes_no_node_along(active_node: MakeNode) -> None:
    node = active_node("ns1")
    create("canary")
    assert group_of(node) is None  # the only node, in the only group
    create("rest", 30)
    assert names() == ["canary", "rest"]
    assert group_of(node) == "canary"
    assert AuditEntry.objects.filter(action="group.create").count() == 2


@pytest.mark.parametrize("name", ["", "Canary", "a b", "-a", "a" * 64, "ring0"])
def test_a_name_is_short_and_plain_and_not_that_of_ring_0(name: str) -> None:
    with pytest.raises(GroupRefused) as refused:
        create(name)
    assert refused.value.field == "name"


@pytest.mark.parametrize("seconds", [-1, 86_401])
def test_the_time_to_verify_is_up_to_a_day(seconds: int) -> None:
    with pytest.raises(GroupRefused) as refused:
        create("canary", seconds)
    assert refused.value.field == "verify_seconds"


def test_two_groups_cannot_have_one_name() -> None:
    create("canary")
    rest = create("rest")
    with pytest.raises(GroupRefused, match="already exists"):
        create("canary")
    with pytest.raises(GroupRefused, match="already exists"):
        rollout_groups.rename_group(group=rest, name="canary", by=None, now=timezone.now())
    rollout_groups.rename_group(group=rest, name="others", by=None, now=timezone.now())
    assert names() == ["canary", "others"]


def test_there_are_not_endlessly_many_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rollout_groups, "MOST_GROUPS", 1)
    create("one")
    with pytest.raises(GroupRefused, match="limit of"):
        create("two")


def test_groups_change_places_and_nodes_without_one_stay_where_they_are(active_node: MakeNode) -> None:
    first, second = create("first"), create("second")
    node = active_node("ns1")  # without a group, it belongs to the last one
    rollout_groups.move_group(group=second, earlier=True, by=None, now=timezone.now())
    assert names() == ["second", "first"]
    assert group_of(node) == "second"
    rollout_groups.move_group(group=second, earlier=False, by=None, now=timezone.now())
    assert names() == ["first", "second"]
    with pytest.raises(GroupRefused, match="is already the first group"):
        rollout_groups.move_group(group=first, earlier=True, by=None, now=timezone.now())
    with pytest.raises(GroupRefused, match="is already the last group"):
        rollout_groups.move_group(group=second, earlier=False, by=None, now=timezone.now())


def test_a_group_with_nodes_or_behind_which_delivery_is_stopped_stays(active_node: MakeNode) -> None:
    canary, rest = create("canary"), create("rest")
    node = active_node("ns1")
    Node.objects.filter(pk=node.pk).update(group=canary)
    with pytest.raises(GroupRefused, match="such as ns1"):
        rollout_groups.delete_group(group=canary, by=None, now=timezone.now())
    Node.objects.filter(pk=node.pk).update(group=None)
    Delivery.objects.update_or_create(id=1, defaults={"stopped_reason": "trouble", "stopped_group": canary})
    with pytest.raises(GroupRefused, match="Resume delivery first"):
        rollout_groups.delete_group(group=canary, by=None, now=timezone.now())
    Delivery.objects.update(stopped_reason="")
    rollout_groups.delete_group(group=rest, by=None, now=timezone.now())
    assert names() == ["canary"]
    assert group_of(node) == "canary"  # its group, the last one, was removed, so it is in the one before


def test_the_time_to_verify_can_be_changed() -> None:
    group = create("canary")
    rollout_groups.set_verify_seconds(group=group, seconds=60, by=None, now=timezone.now())
    group.refresh_from_db()
    assert group.verify_seconds == 60


def test_only_who_may_change_nodes_may_change_groups() -> None:
    group, editor, now = create("canary"), make_person("ed", role="editor"), timezone.now()
    for act in (
        lambda: rollout_groups.create_group(name="x", verify_seconds=0, by=editor, now=now),
        lambda: rollout_groups.rename_group(group=group, name="x", by=editor, now=now),
        lambda: rollout_groups.set_verify_seconds(group=group, seconds=1, by=editor, now=now),
        lambda: rollout_groups.move_group(group=group, earlier=True, by=editor, now=now),
        lambda: rollout_groups.delete_group(group=group, by=editor, now=now),
    ):
        with pytest.raises(Forbidden):
            act()
