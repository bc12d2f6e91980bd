import pytest

from dnspanel.publish.encoding.sealing_pace import BURST, MOST, PER_SECOND, Pace


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0
        self.slept = 0.0

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.slept += seconds


class Publications:
    """Publications at a constant rate. Whenever the pace allows it, all waiting ones are sealed together."""

    def __init__(self, per_second: float) -> None:
        self.clock = Clock()
        self.pace = Pace(clock=self.clock, sleep=self.clock.sleep)
        self._per_second, self._began = per_second, self.clock.now
        self.sequence = self.seals = 0

    def run(self, seconds: float) -> None:
        end = self.clock.now + seconds
        while self.clock.now < end:
            self.pace.wait()
            here = int((self.clock.now - self._began) * self._per_second)
            if here > self.sequence:
                self.sequence = here
                self.seals += 1
                self.pace.count(here)
            self.clock.now += 0.001


def test_one_edit_after_another_never_waits() -> None:
    publications = Publications(PER_SECOND - 1)
    publications.run(60)
    assert publications.clock.slept == 0
    assert publications.seals == publications.sequence


def test_a_burst_passes_at_once() -> None:
    clock = Clock()
    pace = Pace(clock=clock, sleep=clock.sleep)
    for sequence in range(1, int(BURST) + 1):
        pace.wait()
        pace.count(sequence)
    assert clock.slept == 0


@pytest.mark.parametrize("per_second", [100, 1_000])
def test_what_pours_in_is_sealed_in_few_batches(per_second: float) -> None:
    publications = Publications(per_second)
    publications.run(5)  # the burst is over
    before = publications.seals
    publications.run(60)
    assert (publications.seals - before) / 60 == pytest.approx(PER_SECOND / MOST, rel=0.05)


def test_nobody_waits_longer_than_between_two_seals() -> None:
    clock = Clock()
    pace = Pace(clock=clock, sleep=clock.sleep)
    for sequence in range(0, 3_000, 10):
        before = clock.slept
        pace.wait()
        pace.count(sequence)
        assert clock.slept - before <= MOST / PER_SECOND + 1e-9


def test_a_sequence_of_another_epoch_counts_as_one() -> None:
    clock = Clock()
    pace = Pace(clock=clock, sleep=clock.sleep)
    for sequence in (1_000, 1):
        pace.count(sequence)
    for sequence in range(2, int(BURST)):
        pace.wait()
        pace.count(sequence)
    assert clock.slept == 0


def test_after_a_rest_the_next_is_made_at_once() -> None:
    publications = Publications(1_000)
    publications.run(10)
    publications.clock.now += 2
    slept = publications.clock.slept
    publications.pace.wait()
    assert publications.clock.slept == slept
