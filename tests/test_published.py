"""The page of the published tests: its sentences, charts and configurations.

Tests `published.page`, `published.recorded`, `published.tables` and `published.charts`, and the evaluation of
measurements in `published.propagation`.
"""

import sys
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.benchmarks.published import page, propagation, recorded
from tests.benchmarks.published.estate import AGAIN_AFTER, half_of_them_twice
from tests.benchmarks.published.fleets import Moved, all_of
from tests.benchmarks.published.name_servers import BIND_ZONE, KNOT_ZONE, NSD_ZONE, abridged, zone_list
from tests.benchmarks.published.options import Options
from tests.benchmarks.published.propagation_lightning import LightningStream, Unavailable
from tests.benchmarks.published.result import Bar, Chart, Result
from tests.benchmarks.published.tables import answers_table, table, who_wins
from tests.benchmarks.serving import Figures

RESULT = Result(
    title="Names",
    purpose="This test shows names.",
    figures={"cpu_vs_nsd": 0.5},
    charts=[Chart("names", "Names & numbers", "answers per second", (Bar("ours", 61_234.5), Bar("NSD", 102_000.0)))],
    text=["word " * 60, table(("", "Answers/s"), [("ours", 61_234.5), ("NSD", 3)])],
    configurations={"NSD": 'zonesdir: "/home/somebody/checkout/var/bench/published/NSD"\npassword=secret\nport: 1'},
)


@pytest.fixture
def document(tmp_path: Path) -> Path:
    """Return the page with one recorded test and others that never ran."""
    recorded.keep(tmp_path / "kept", "random_names", Options(tmp_path, seconds=2.0), RESULT)
    path = tmp_path / "published.md"
    page.write_page(path, recorded.kept(tmp_path / "kept", ("backends", "random_names")))
    return path


def page_of_test(document: Path) -> str:
    """Return the page of the recorded test."""
    return (document.with_suffix("") / "random_names.md").read_text()


def test_stored_results_are_read_back_unchanged(tmp_path: Path) -> None:
    recorded.keep(tmp_path, "random_names", Options(tmp_path), RESULT)
    (one,) = recorded.kept(tmp_path, ("random_names",))
    assert one.result == RESULT


def test_a_page_has_the_date_and_the_command_with_the_options_of_its_test(document: Path) -> None:
    assert page_of_test(document).startswith("# Names\n\nThis test shows names.\n\nMeasured on 20")
    command = "./dev bench published random_names --questions 1000000 --rounds 3 --seconds 2"
    assert f" with `{command}`.\n" in page_of_test(document)
    assert "- [Names](published/random_names.md), measured on 20" in document.read_text()


def test_the_page_shows_if_a_competitor_is_better(document: Path) -> None:
    assert "| `cpu_vs_nsd` | 0.5 | **the competitor** |\n" in document.read_text()


def test_the_page_shows_a_figure_that_was_not_measured(tmp_path: Path) -> None:
    result = Result("Nodes", figures={"push_vs_lightningstream_p50": None})
    recorded.keep(tmp_path / "kept", "propagation", Options(tmp_path, lightning_stream=Path("/nowhere")), result)
    page.write_page(tmp_path / "published.md", recorded.kept(tmp_path / "kept", ("propagation",)))
    assert "| `push_vs_lightningstream_p50` |  | not measured |\n" in (tmp_path / "published.md").read_text()


def test_lines_of_pages_are_at_most_160_characters(document: Path) -> None:
    for text in (document.read_text(), page_of_test(document)):
        assert max(len(line) for line in text.splitlines()) <= 160


def test_configurations_contain_no_paths_and_passwords_of_the_machine(document: Path) -> None:
    assert "\n[Configurations of the servers](random_names.txt)\n" in page_of_test(document)
    text = (document.parent / "published" / "random_names.txt").read_text()
    assert text.startswith("=== NSD ===\n\n")
    assert 'zonesdir: "/srv/bench/published/NSD"\npassword=(made for the run)\nport: 1\n' in text


def test_charts_contain_labels_and_figures_and_no_script(document: Path) -> None:
    assert "![Names & numbers](names.svg)" in page_of_test(document)
    drawing = ElementTree.parse(document.parent / "published" / "names.svg")
    assert {"61,234", "102,000", "our node", "NSD"} <= {element.text for element in drawing.iter()}
    assert [element.tag for element in drawing.iter() if str(element.tag).endswith("script")] == []


def test_charts_remove_the_import_finder_of_pygal() -> None:
    """pygal installs an import finder without `find_spec`, which would break later imports. `charts` removes it."""
    assert [finder for finder in sys.meta_path if not hasattr(finder, "find_spec")] == []


def test_a_new_page_removes_the_files_of_the_previous_page(document: Path) -> None:
    page.write_page(document, [])
    assert list(document.with_suffix("").iterdir()) == []
    assert page.NOTHING in document.read_text()


@pytest.mark.parametrize(
    ("values", "is_less_better", "sentence"),
    [
        (
            {"NSD": 50.0, "ours": 100.0},
            False,
            "Speed: our node is best with 100 µs, ahead of NSD with 50 µs by a factor of 2.",
        ),
        (
            {"NSD": 50.0, "ours": 100.0},
            True,
            "Speed: **NSD** is best with 50 µs, ahead of our node with 100 µs by a factor of 2.",
        ),
        ({"NSD": 0.0, "ours": 12.0}, True, "Speed: **NSD** is best with 0 µs, ahead of our node with 12 µs."),
        ({"NSD": 7.0, "ours": 0.0, "BIND": 0.0}, True, "Speed: our node and BIND are equal (0 and 0 µs)."),
        ({"BIND": 32.2, "ours": 32.3, "NSD": 38.0}, True, "Speed: our node and BIND are equal (32.3 and 32.2 µs)."),
        ({"NSD": 0.0, "ours": 0.0}, True, "Speed: no difference (0 µs)."),
    ],
)
def test_who_wins_names_the_best_server_or_a_tie(values: dict[str, float], is_less_better: bool, sentence: str) -> None:
    assert who_wins("Speed", values, unit=" µs", is_less_better=is_less_better) == sentence


def test_a_table_has_medians_and_the_sum_of_unanswered_queries() -> None:
    rounds = [Figures(10.0, 3.0, 1), Figures(12_000.0, 1.0, 0), Figures(20_000.0, 2.0, 4)]
    assert answers_table({"ours": rounds}).splitlines()[-1] == "| our node | 12,000 | 2 | 5 |"


@pytest.mark.parametrize("template", [BIND_ZONE, NSD_ZONE, KNOT_ZONE])
def test_a_shortened_configuration_has_only_the_first_zone(template: str) -> None:
    zones = zone_list(template, {f"{name}.test.": Path(f"{name}.zone") for name in ("a", "b", "c")})
    text = abridged("server:\n\n    port: 1\n", zones)
    assert text.startswith("server:\n    port: 1\n")
    assert "a.test" in text
    assert "b.test" not in text
    assert text.endswith("(and so on, for each zone)\n")


def test_half_of_the_names_occur_twice() -> None:
    names = [str(number) for number in range(2 * AGAIN_AFTER)]
    questions = Counter(half_of_them_twice(names))
    assert {name for name, times in questions.items() if times == 2} == set(names[:AGAIN_AFTER:2])
    assert set(questions) == set(names)


def moved(label: str, *rounds: tuple[float, ...], zones: int = 1_000, lock_ms: float | None = None) -> Moved:
    return Moved(label, zones, rounds, bytes_per_node=400.0, lock_ms=lock_ms)


def test_the_p50_of_a_fleet_is_the_median_of_its_rounds() -> None:
    fleet = moved("ours", (10.0, 11.0, 12.0), (30.0, 90.0, 30.0), (20.0, 20.0, 25.0))
    assert (fleet.edits, fleet.p50_ms, fleet.p99_ms) == (9, 20.0, 90.0)


def test_measurements_of_a_fleet_are_combined_in_one_row() -> None:
    parts = [moved("ours", (10.0, 12.0), lock_ms=2.0), moved("ours", (30.0,), lock_ms=7.5), moved("ours", (20.0,))]
    assert all_of(parts).row() == ("our node", 4, 20.0, 30.0, 400, 7.5)


def test_ratios_compare_the_fastest_fleet_of_a_rival_with_ours_in_the_same_rounds() -> None:
    seen_late = [moved(propagation.NATIVE_CACHED, (0.1,))]  # without ours, so it is not compared
    found = propagation.ratios(
        [
            [moved("ours", (10.0,)), moved(propagation.NATIVE, (5.0,)), moved(propagation.NATIVE_PURGED, (8.0,))],
            [moved("ours", (20.0,)), moved("AXFR to BIND, NOTIFY at once", (30.0,)), moved("AXFR to NSD", (60.0,))],
            seen_late,
        ]
    )
    assert found == {"push_vs_lightningstream_p50": None, "push_vs_native_p50": 0.5, "push_vs_axfr_p50": 1.5}


def test_lightning_stream_is_unavailable_without_its_program(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="no program `lightningstream` on the PATH"):
        LightningStream(None)
    with pytest.raises(Unavailable, match="nowhere"):
        LightningStream(tmp_path / "nowhere")
