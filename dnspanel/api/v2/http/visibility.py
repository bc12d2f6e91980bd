"""Filter the content of zones that are only partly visible to a token."""

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
    """Return the visible RRsets, changes or violations. If `visibility` is None, everything is visible."""
    return list(items) if visibility is None else [item for item in items if visibility(item.name, item.type)]
