"""Samples are seeded and keep their order. `--full` runs everything."""

import math
from argparse import Namespace
from pathlib import Path

import pytest

from tests.full import FEATURES, NEVER_RESTS, TURNS, Sample, _has_turn, _sampled, choose, take_turn

ROOT = Path(__file__).resolve().parents[1]


def test_a_choice_is_the_same_for_the_same_seed_and_keeps_the_order() -> None:
    assert choose(range(100), 5, seed=7) == choose(range(100), 5, seed=7) == sorted(choose(range(100), 5, seed=7))
    assert {tuple(choose(range(100), 5, seed=seed)) for seed in range(20)} > {tuple(choose(range(100), 5, seed=7))}
    assert choose(range(3), 5, seed=7) == [0, 1, 2]


def item(nodeid: str, mark: pytest.MarkDecorator, **params: str) -> Namespace:
    """Return a stand-in for a pytest item, with the attributes that the choice needs."""
    spec = {"callspec": Namespace(params=params)} if params else {}
    return Namespace(nodeid=nodeid, get_closest_marker=lambda name: mark.mark, **spec)


def test_a_sample_is_of_the_tests_of_one_name_or_of_the_values_of_a_parameter_in_a_file() -> None:
    each = pytest.mark.sample(1, reason="zones")
    items = [item(f"tests/test_a.py::test_b[{zone}]", each, zone=zone) for zone in ("x", "y")]
    key = ("tests/test_a.py::test_b", 1, "zones")
    assert _sampled(items) == {key: {test.nodeid: [test] for test in items}}  # type: ignore[arg-type]
    by_release = pytest.mark.sample(1, by="release", reason="releases")
    first, second, third = (
        item(f"tests/test_a.py::{name}[{release}]", by_release, release=release)
        for name, release in (("test_c", "4.7"), ("test_d", "4.7"), ("test_d", "5.1"))
    )
    alone = item("tests/test_a.py::test_e", by_release)
    found = _sampled([third, alone, second, first])  # type: ignore[list-item]
    assert found == {("tests/test_a.py", 1, "releases"): {"4.7": [first, second], "5.1": [third]}}


def test_a_full_run_leaves_nothing_out() -> None:
    full = Sample(full=True, seed=1)
    assert full.some(range(100), 5, reason="") == list(range(100))
    assert full.turn(range(100), 5, reason="") == list(range(100))
    assert full.few(3, 10, reason="") == 10


def test_turns_come_to_each_thing_once_within_as_many_days_as_it_takes() -> None:
    for length, days in ((100, 4), (101, 4), (90, 3), (30, 1), (2, 1), (0, 0)):
        turns = [Sample(full=False, seed=700_000 + day).turn(range(length), 30, reason="test") for day in range(days)]
        assert sorted(number for turn in turns for number in turn) == list(range(length))
        assert all(len(turn) <= 30 for turn in turns)


def test_a_test_has_its_turn_on_one_of_so_many_days() -> None:
    for name in ("tests/test_a.py::test_b", "tests/test_a.py::test_c[1]"):
        assert sum(_has_turn(name, 3, seed=700_000 + day) for day in range(3)) == 1


def test_every_file_that_takes_turns_exists_and_comes_on() -> None:
    for count, paths in TURNS.values():
        assert paths
        assert [path for path in paths if not (ROOT / path).exists()] == []
        turns = [take_turn(paths, count, day=day) for day in range(700_000, 700_000 + math.ceil(len(paths) / count))]
        assert {path for turn in turns for path in turn} == {*paths}
        assert all(len({*turn}) == count for turn in turns)


def test_a_quarter_of_the_files_of_a_feature_run_each_day() -> None:
    for name in FEATURES:
        count, paths = TURNS[name]
        assert len(paths) / 4 <= count <= len(paths) / 4 + 1
        assert len(paths) > 2, "the folders of the feature have other names now"


def test_what_is_about_access_or_about_nodes_never_rests() -> None:
    resting = {path for name in FEATURES for path in TURNS[name][1]}
    assert [path for path in resting if NEVER_RESTS & {*Path(path).stem.split("_")}] == []
    rooms = ("accounts", "api", "fleet", "gateway", "publish", "zones/rights", "zones/publishing")
    never = ("tests/replication/", *(f"tests/dnspanel/{room}/" for room in rooms))
    features = ("tests/dnspanel/api/v2/resources/", "tests/dnspanel/fleet/dnssec/")
    assert [path for path in resting if path.startswith(never) and not path.startswith(features)] == []
    assert "tests/dnspanel/webhooks/test_access.py" not in resting
