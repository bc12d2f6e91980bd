import pytest

from dnspanel.publish.pace import BURST, SEALS_PER_SECOND, Pace


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0
        self.slept = 0.0

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.slept += seconds


def sealing(pace: Pace, clock: Clock, *, times: int, every: float) -> None:
    for _ in range(times):
        pace.wait()
        pace.count()
        clock.now += every


def test_edits_of_a_person_never_wait() -> None:
    clock = Clock()
    sealing(Pace(clock=clock, sleep=clock.sleep), clock, times=500, every=1 / (SEALS_PER_SECOND - 1))
    assert clock.slept == 0


def test_a_burst_passes_and_what_pours_in_is_sealed_in_batches() -> None:
    clock = Clock()
    pace = Pace(clock=clock, sleep=clock.sleep)
    sealing(pace, clock, times=int(BURST), every=0)
    assert clock.slept == 0
    began = clock.now
    sealing(pace, clock, times=100, every=0.001)
    assert clock.now - began == pytest.approx(100 / SEALS_PER_SECOND, rel=0.05)


def test_nobody_waits_longer_than_between_two_seals() -> None:
    clock = Clock()
    pace = Pace(clock=clock, sleep=clock.sleep)
    for _ in range(300):
        before = clock.slept
        sealing(pace, clock, times=1, every=0.002)
        assert clock.slept - before <= 1 / SEALS_PER_SECOND + 1e-9


def test_after_a_rest_the_next_is_made_at_once() -> None:
    clock = Clock()
    pace = Pace(clock=clock, sleep=clock.sleep)
    sealing(pace, clock, times=200, every=0)
    clock.now += 2
    slept = clock.slept
    sealing(pace, clock, times=int(BURST), every=0)
    assert clock.slept == slept
