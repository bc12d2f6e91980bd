import gc

import pytest

from replication.garbage import collection_paused, leave_out_what_is_loaded


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


def test_what_is_loaded_is_not_looked_through_again() -> None:
    before = gc.get_threshold()
    kept: list[object] = [[] for _ in range(100)]
    try:
        leave_out_what_is_loaded()
        assert gc.get_freeze_count() > 100
        looked_through = set(map(id, gc.get_objects()))
        assert not any(id(one) in looked_through for one in kept)
    finally:
        gc.unfreeze()
        gc.set_threshold(*before)
