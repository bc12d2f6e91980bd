"""Tests of rate limits: one bucket per key lets bursts through, but no floods."""

from dnspanel.gateway.rate_limits import Rates


def allowed(rates: Rates, key: str, times: int, *, at: float) -> int:
    return sum(rates.allows(key, now=at, per_second=2, burst=5) for _ in range(times))


def test_a_burst_passes_and_then_as_much_as_leaks_away() -> None:
    rates = Rates()
    assert allowed(rates, "a", 10, at=100.0) == 5
    assert allowed(rates, "a", 10, at=101.0) == 2
    assert allowed(rates, "a", 10, at=200.0) == 5


def test_what_is_refused_does_not_make_the_wait_longer() -> None:
    rates = Rates()
    allowed(rates, "a", 1000, at=100.0)
    assert allowed(rates, "a", 1, at=100.5) == 1


def test_each_key_has_a_bucket_of_its_own() -> None:
    rates = Rates()
    assert [allowed(rates, key, 10, at=100.0) for key in "abc"] == [5, 5, 5]


def test_keys_without_number_take_no_memory_without_end() -> None:
    rates = Rates(most_keys=100)
    for number in range(1000):
        rates.allows(number, now=100.0, per_second=2, burst=5)
    assert len(rates._buckets) == 100
