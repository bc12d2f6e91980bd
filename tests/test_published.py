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
    figures={"cpu_vs_nsd": 0.5},
    charts=[Chart("names", "Names & numbers", "answers a second", (Bar("ours", 61_234.5), Bar("NSD", 102_000.0)))],
    text=["word " * 60, table(("", "Answers/s"), [("ours", 61_234.5), ("NSD", 3)])],
    configurations={"NSD": 'zonesdir: "/home/somebody/checkout/var/bench/published/NSD"\npassword=secret\nport: 1'},
)


@pytest.fixture
def document(tmp_path: Path) -> Path:
    """Return the page with one recorded test and others that never ran."""
    recorded.keep(tmp_path / "kept", "random_names", Options(tmp_path, zones=12), RESULT)
    path = tmp_path / "published.md"
    page.write_page(path, recorded.kept(tmp_path / "kept", ("backends", "random_names")))
    return path


def page_of_test(document: Path) -> str:
    """Return the page of the recorded test."""
    return (document.with_suffix("") / "random_names.md").read_text()


def test_what_was_kept_comes_back_as_it_was(tmp_path: Path) -> None:
    recorded.keep(tmp_path, "random_names", Options(tmp_path), RESULT)
    (one,) = recorded.kept(tmp_path, ("random_names",))
    assert one.result == RESULT


def test_the_page_says_when_and_at_which_size(document: Path) -> None:
    assert page_of_test(document).startswith("# Names\n\nMeasured on 20")
    assert "; zones 12, small zones 1,000, " in page_of_test(document)
    assert "- [Names](published/random_names.md), measured on 20" in document.read_text()


def test_the_page_begins_with_who_is_better(document: Path) -> None:
    assert "| `cpu_vs_nsd` | 0.5 | **the competitor** |\n" in document.read_text()


def test_the_page_says_which_figure_could_not_be_measured(tmp_path: Path) -> None:
    result = Result("Nodes", figures={"push_vs_lightningstream_p50": None})
    recorded.keep(tmp_path / "kept", "propagation", Options(tmp_path, lightning_stream=Path("/nowhere")), result)
    page.write_page(tmp_path / "published.md", recorded.kept(tmp_path / "kept", ("propagation",)))
    assert "| `push_vs_lightningstream_p50` |  | not measured |\n" in (tmp_path / "published.md").read_text()


def test_the_page_has_lines_that_a_document_may_have(document: Path) -> None:
    for text in (document.read_text(), page_of_test(document)):
        assert max(len(line) for line in text.splitlines()) <= 160


def test_the_page_links_configurations_without_places_and_secrets_of_the_machine(document: Path) -> None:
    assert "\n[The configurations](random_names.txt) of the servers.\n" in page_of_test(document)
    text = (document.parent / "published" / "random_names.txt").read_text()
    assert text.startswith("=== NSD ===\n\n")
    assert 'zonesdir: "/srv/bench/published/NSD"\npassword=(made for the run)\nport: 1\n' in text


def test_charts_have_their_figures_and_no_script(document: Path) -> None:
    assert "![Names & numbers](names.svg)" in page_of_test(document)
    drawing = ElementTree.parse(document.parent / "published" / "names.svg")
    assert {"61,234", "102,000", "ours", "NSD"} <= {element.text for element in drawing.iter()}
    assert [element.tag for element in drawing.iter() if str(element.tag).endswith("script")] == []


def test_whoever_draws_a_chart_can_still_import_as_before() -> None:
    """pygal installs an import finder without `find_spec`, which would break later imports. `charts` removes it."""
    assert [finder for finder in sys.meta_path if not hasattr(finder, "find_spec")] == []


def test_a_new_page_has_no_charts_and_configurations_of_an_old_one(document: Path) -> None:
    page.write_page(document, [])
    assert list(document.with_suffix("").iterdir()) == []
    assert page.NOTHING in document.read_text()


@pytest.mark.parametrize(
    ("values", "is_less_better", "sentence"),
    [
        ({"NSD": 50.0, "ours": 100.0}, False, "Speed: ours wins, with 2.00 times NSD."),
        ({"NSD": 50.0, "ours": 100.0}, True, "Speed: **NSD wins**, with 0.50 times ours."),
        ({"NSD": 0.0, "ours": 12.0}, True, "Speed: **NSD wins**, with 0 against 12 of ours."),
        ({"NSD": 7.0, "ours": 0.0, "BIND": 0.0}, True, "Speed: ours wins, with 0 against 0 of BIND."),
        ({"NSD": 0.0, "ours": 0.0}, True, "Speed: nobody wins."),
    ],
)
def test_the_winner_is_named_also_where_it_is_not_us(
    values: dict[str, float], is_less_better: bool, sentence: str
) -> None:
    assert who_wins("Speed", values, is_less_better=is_less_better) == sentence


def test_a_table_has_medians_and_all_that_was_lost() -> None:
    rounds = [Figures(10.0, 3.0, 1), Figures(12_000.0, 1.0, 0), Figures(20_000.0, 2.0, 4)]
    assert answers_table({"ours": rounds}).splitlines()[-1] == "| ours | 12,000 | 2 | 5 |"


@pytest.mark.parametrize("template", [BIND_ZONE, NSD_ZONE, KNOT_ZONE])
def test_of_many_zones_a_configuration_shows_the_first(template: str) -> None:
    zones = zone_list(template, {f"{name}.test.": Path(f"{name}.zone") for name in ("a", "b", "c")})
    text = abridged("server:\n\n    port: 1\n", zones)
    assert text.startswith("server:\n    port: 1\n")
    assert "a.test" in text
    assert "b.test" not in text
    assert text.endswith("(and so on, for each zone)\n")


def test_half_of_the_names_are_repeated_soon() -> None:
    names = [str(number) for number in range(2 * AGAIN_AFTER)]
    questions = Counter(half_of_them_twice(names))
    assert {name for name, times in questions.items() if times == 2} == set(names[:AGAIN_AFTER:2])
    assert set(questions) == set(names)


def moved(label: str, *rounds: tuple[float, ...], zones: int = 1_000, lock_ms: float | None = None) -> Moved:
    return Moved(label, zones, rounds, bytes_per_node=400.0, lock_ms=lock_ms)


def test_of_a_fleet_the_median_of_its_rounds_counts() -> None:
    fleet = moved("ours", (10.0, 11.0, 12.0), (30.0, 90.0, 30.0), (20.0, 20.0, 25.0))
    assert (fleet.edits, fleet.p50_ms, fleet.p99_ms) == (9, 20.0, 90.0)


def test_what_was_measured_of_a_fleet_at_different_times_is_one_row() -> None:
    parts = [moved("ours", (10.0, 12.0), lock_ms=2.0), moved("ours", (30.0,), lock_ms=7.5), moved("ours", (20.0,))]
    assert all_of(parts).row() == ("ours", 4, 20.0, 30.0, 400, 7.5)


def test_a_rival_is_compared_with_ours_of_the_same_turns_and_its_fastest_fleet_counts() -> None:
    seen_late = [moved(propagation.NATIVE_CACHED, (0.1,))]  # without ours, so it is not compared
    found = propagation.ratios(
        [
            [moved("ours", (10.0,)), moved(propagation.NATIVE, (5.0,)), moved(propagation.NATIVE_PURGED, (8.0,))],
            [moved("ours", (20.0,)), moved("AXFR to BIND, NOTIFY at once", (30.0,)), moved("AXFR to NSD", (60.0,))],
            seen_late,
        ]
    )
    assert found == {"push_vs_lightningstream_p50": None, "push_vs_native_p50": 0.5, "push_vs_axfr_p50": 1.5}


def test_without_its_program_lightning_stream_is_not_measured_and_says_why(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="no program `lightningstream` on the PATH"):
        LightningStream(None)
    with pytest.raises(Unavailable, match="nowhere"):
        LightningStream(tmp_path / "nowhere")
