"""The texts that searches look into, written at once."""

from collections.abc import Callable

import pytest

from dnspanel.zones.search import texts_upkeep
from tests.people import NOW

CatchUp = Callable[[], int]


@pytest.fixture
def catch_up(db: None) -> CatchUp:
    """Lets the texts follow, and returns of how many zones they were written."""

    def follow() -> int:
        written = 0
        while found := texts_upkeep.catch_up(now=NOW):
            written += found
        return written

    return follow
