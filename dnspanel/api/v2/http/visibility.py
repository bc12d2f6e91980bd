"""What a token sees of zones that it sees in part."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Protocol, TypeVar

from dnspanel.accounts.actors import Actor
from dnspanel.accounts.grants import Right
from dnspanel.zones.access import Visibility


class _Named(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def type(self) -> int: ...


Item = TypeVar("Item", bound=_Named)


def seen(items: Iterable[Item], visibility: Visibility | None) -> list[Item]:
    """Those of these RRsets, changes or violations that may be seen."""
    return list(items) if visibility is None else [item for item in items if visibility(item.name, item.type)]


def limited_to_full_zones(actor: Actor) -> Actor:
    """The same actor, knowing only the zones that it sees all of: a search inside of others would tell too much."""
    if actor.scope is None:
        return actor
    unlimited = tuple(grant for grant in actor.scope if Right.READ in grant.rights and not grant.is_limited)
    return replace(actor, scope=unlimited)
