"""Errors contain facts, and their messages state them."""

from dnspanel.zones import errors
from dnspanel.zones.plan.merge import Conflict
from replication.dns.rrset import Change


def test_every_error_is_in_the_tree_drawn_at_the_top() -> None:
    kinds = {
        name: kind for name, kind in vars(errors).items() if isinstance(kind, type) and issubclass(kind, Exception)
    }
    named = [name for name, kind in kinds.items() if kind.__module__.startswith(f"{errors.__name__}.")]
    assert named
    assert errors.__doc__ is not None
    assert [name for name in named if name not in errors.__doc__] == []


def test_many_conflicts_are_counted_rather_than_listed() -> None:
    conflicts = [Conflict("z.test.", Change(f"h{i}.z.test.", 1, None, None), None) for i in range(8)]
    message = str(errors.Conflicts(conflicts))
    assert "h0.z.test. A" in message
    assert "and 3 more" in message


def test_the_guard_says_which_zone_to_type() -> None:
    refusal = errors.GuardHolds([errors.GuardedZone("z.test.", ("This deletes 4 of 12 RRsets.",), 4, 12)])
    assert str(refusal) == "z.test.: This deletes 4 of 12 RRsets. Enter the zone name to confirm."
