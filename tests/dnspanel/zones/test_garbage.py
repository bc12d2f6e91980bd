import gc

import pytest

from dnspanel.zones.garbage import collection_paused


def test_the_search_goes_on_behind_the_outermost_block() -> None:
    assert gc.isenabled()
    with collection_paused():
        with collection_paused():
            assert not gc.isenabled()
        assert not gc.isenabled()
    assert gc.isenabled()


def test_it_goes_on_after_an_exception_too() -> None:
    with pytest.raises(ZeroDivisionError), collection_paused():
        _ = 1 / 0
    assert gc.isenabled()
