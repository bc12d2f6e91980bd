"""Metrics are declared once, and exported under their Python names."""

from replication import stats
from replication.stats import Counter, Maximum


def test_every_metric_is_called_what_its_python_name_says() -> None:
    for python_name, metric in vars(stats).items():
        if isinstance(metric, Counter | Maximum):
            assert metric.name == f"dnspanel_{python_name.lower()}"
            assert metric.about


def test_a_counter_counts_and_a_maximum_keeps_the_largest() -> None:
    before = stats.PURGES.value
    stats.PURGES.add()
    stats.PURGES.add(2)
    assert stats.PURGES.value == before + 3
    stats.VERIFY_MS_MAX.note(1e9)
    stats.VERIFY_MS_MAX.note(5)
    assert stats.VERIFY_MS_MAX.value == 1e9
