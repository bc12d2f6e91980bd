"""The texts that searches look into, written at once."""

from collections.abc import Callable

import pytest

from dnspanel.zones.search import texts_upkeep
from tests.people import NOW

CatchUp = Callable[[], int]


@pytest.fixture
def catch_up(db: None) -> CatchUp:
    """Return a function that lets the texts follow, and returns the number of zones whose texts were written."""

    def follow() -> int:
        written = 0
        while found := texts_upkeep.catch_up(now=NOW):
            written += found
        return written

    return follow
