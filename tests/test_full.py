"""Samples are seeded, kept in order, and all of it with `--full`."""

from pathlib import Path

from tests.full import TURNS, Sample, choose

ROOT = Path(__file__).resolve().parents[1]


def test_a_choice_is_the_same_for_the_same_seed_and_keeps_the_order() -> None:
    assert choose(range(100), 5, seed=7) == choose(range(100), 5, seed=7) == sorted(choose(range(100), 5, seed=7))
    assert {tuple(choose(range(100), 5, seed=seed)) for seed in range(20)} > {tuple(choose(range(100), 5, seed=7))}
    assert choose(range(3), 5, seed=7) == [0, 1, 2]


def test_a_full_run_leaves_nothing_out() -> None:
    full = Sample(full=True, seed=1)
    assert full.some(range(100), 5, reason="") == list(range(100))
    assert full.few(3, 10, reason="") == 10


def test_every_file_that_takes_turns_exists_and_comes_on() -> None:
    for count, paths in TURNS.values():
        assert [path for path in paths if not (ROOT / path).exists()] == []
        assert {path for seed in range(100) for path in choose(paths, count, seed=seed)} == {*paths}
