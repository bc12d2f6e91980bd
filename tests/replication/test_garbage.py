import gc
import subprocess
import sys

import pytest

from replication.garbage import Heap, collection_paused, leave_out_what_is_loaded


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
        # Frozen objects stay frozen, so that later tests need not search all loaded objects.
        gc.set_threshold(*before)


def test_a_process_that_has_grown_gives_its_memory_back() -> None:
    """Previously, a web worker kept 543 MB after an hour of refused requests."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.alone.grow_and_shrink"], check=True, capture_output=True, text=True
    )
    before, peak, after = (int(word) >> 20 for word in done.stdout.split())
    assert peak - before > 96
    assert after - before < 48


def test_memory_is_given_back_only_by_a_process_that_has_grown() -> None:
    heap = Heap()
    assert not heap.give_back()
    kept = bytearray(96 << 20)
    assert heap.give_back()
    assert not heap.give_back()
    assert len(kept) == 96 << 20
