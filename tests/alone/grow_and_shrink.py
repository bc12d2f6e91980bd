"""Prints this process's memory before, during and after work that needs much of it."""

import json
import threading

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
        refusal.read = json.loads(body), refusal  # a cycle, like a traceback whose frame keeps it


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
