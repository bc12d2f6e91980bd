"""What a token sees of zones that it sees in part."""

from collections.abc import Iterable
from typing import Protocol, TypeVar

from dnspanel.zones.rights.access import Visibility


class _Named(Protocol):
    @property
    def name(self) -> str: ...
    @property
    def type(self) -> int: ...


Item = TypeVar("Item", bound=_Named)


def filter_visible(items: Iterable[Item], visibility: Visibility | None) -> list[Item]:
    """Return those of these RRsets, changes or violations that may be seen."""
    return list(items) if visibility is None else [item for item in items if visibility(item.name, item.type)]
