"""Fixtures that write the search texts of zones immediately."""

from collections.abc import Callable

import pytest

from dnspanel.zones.search import texts_upkeep
from tests.people import NOW

CatchUp = Callable[[], int]


@pytest.fixture
def catch_up(db: None) -> CatchUp:
    """Return a function that updates the search texts, and returns the number of zones with new texts."""

    def follow() -> int:
        written = 0
        while found := texts_upkeep.catch_up(now=NOW):
            written += found
        return written

    return follow
