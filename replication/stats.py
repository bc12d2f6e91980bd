"""Declare the metrics of the agent and its store in one place.

The exported name is the Python name in lowercase, with the prefix `dnspanel_`. Metrics are for this process only:
counters of events, and maximum values of things that have a limit.
"""

import threading


class _Metric:
    def __init__(self, name: str, about: str) -> None:
        self.name, self.about = name, about
        self._value = 0.0
        self._lock = threading.Lock()

    @property
    def value(self) -> float:
        return self._value


class Counter(_Metric):
    """A counter of events or amounts."""

    def add(self, amount: float = 1) -> None:
        with self._lock:
            self._value += amount


class Maximum(_Metric):
    """The largest value since the process started."""

    def note(self, value: float) -> None:
        with self._lock:
            self._value = max(self._value, value)


# replication/agent/updates/apply_push.py
SEGMENTS_APPLIED = Counter("dnspanel_segments_applied", "Segments this node applied")
SEGMENT_BYTES = Counter("dnspanel_segment_bytes", "Bytes of the segments this node applied")
ROWS_WRITTEN = Counter("dnspanel_rows_written", "LMDB rows put or deleted by this node")
REFUSALS = Counter("dnspanel_refusals", "Pushes this node refused")
VERIFY_MS_MAX = Maximum("dnspanel_verify_ms_max", "Longest purge and verification of one push, ms")

# replication/store/lock_time.py
WRITE_LOCK_MS_MAX = Maximum("dnspanel_write_lock_ms_max", "Longest time an LMDB write transaction was open, ms")
WRITE_LOCK_OWN_MS_MAX = Maximum("dnspanel_write_lock_own_ms_max", "Most processor time spent while one was open, ms")

# replication/agent/integrity_scan.py
ROWS_CHECKED = Counter("dnspanel_rows_checked", "Rows that were compared with what this agent wrote")

# replication/agent/updates/purge.py
PURGES = Counter("dnspanel_purges", "Purge commands sent to PowerDNS")
OWN_QUESTIONS = Counter("dnspanel_own_questions", "DNS questions this agent asked its PowerDNS, for proof")

# replication/agent/powerdns/observe.py
SAMPLES = Counter("dnspanel_samples", "Samples taken of PowerDNS's counters")
SAMPLES_MISSED = Counter("dnspanel_samples_missed", "Seconds in which PowerDNS's statistics did not answer")
