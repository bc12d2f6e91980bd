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
        gc.unfreeze()
        gc.set_threshold(*before)


MEASURED = """
import json, sys, threading
from replication.garbage import Heap, leave_out_what_is_loaded, resident_bytes

leave_out_what_is_loaded()
heap = Heap()
before = resident_bytes()
body = json.dumps([{"name": f"h{number}.example.test.", "rdata": ["x" * 1000]} for number in range(8000)])

class Refused(Exception):
    pass

def refuse() -> None:
    for _ in range(3):
        refusal = Refused()
        refusal.read = json.loads(body), refusal  # a cycle, as a traceback makes one with the frame that keeps it

peak = before
for _ in range(3):
    threads = [threading.Thread(target=refuse) for _ in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    peak = max(peak, resident_bytes())
    heap.give_back()
print(before, peak, resident_bytes())
"""


def test_a_process_that_has_grown_gives_its_memory_back() -> None:
    """A web worker had 543 MB after an hour of refused requests, and kept them."""
    done = subprocess.run([sys.executable, "-c", MEASURED], check=True, capture_output=True, text=True)
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
