"""The comparison of two commits by the output of their benchmarks."""

from pathlib import Path

from tests.benchmarks.bench_compare import SECTIONS_KEPT, Comparison, Runs, compared, flat, section, write_down


def test_every_number_has_a_name() -> None:
    assert flat({"bench": "push", "ok": True, "small": {"p50_ms": 2}, "x": 1.5}) == {"small.p50_ms": 2.0, "x": 1.5}


def test_a_ratio_is_ours_by_theirs_and_the_noise_is_theirs_by_themselves() -> None:
    runs = Runs(before=[{"p50": 10.0}, {"p50": 11.0}], ours=[{"p50": 21.0, "new": 1.0}], again=[{"p50": 9.0}])
    found = compared(runs)
    assert list(found) == ["p50"], "what one of them lacks cannot be compared"
    assert (found["p50"].before, found["p50"].ratio) == (10.0, 2.1)
    assert round(found["p50"].noise, 3) == 0.15
    assert [Comparison(0, after, 0).ratio for after in (0, 1)] == [1.0, float("inf")]


def test_each_comparison_is_a_section_of_its_own(tmp_path: Path) -> None:
    document = tmp_path / "comparisons.md"
    document.write_text("# Comparisons\n")
    for title in ("one", "two"):
        found = {"push": {"p50": Comparison(10, 11, 0.02), "zones": Comparison(5, 5, 0)}}
        write_down(document, section(found, title, "Compared with 8c6b4db."))
    of_two = [
        "## two",
        "",
        "Compared with 8c6b4db.",
        "",
        "| Figure | Before | After | Ratio | Noise |",
        "|---|---|---|---|---|",
    ]
    assert document.read_text().splitlines()[-8:] == ["", *of_two, "| push p50 | 10 | 11 | 1.10 | 2% |"]
    assert document.read_text().count("## one") == 1


def test_the_oldest_comparisons_leave_the_document(tmp_path: Path) -> None:
    document = tmp_path / "comparisons.md"
    document.write_text("# Comparisons\n\nHow to read them.\n")
    found = {"push": {"p50": Comparison(10, 11, 0.02)}}
    for number in range(SECTIONS_KEPT + 2):
        write_down(document, section(found, f"number {number}", "Compared with 8c6b4db."))
    text = document.read_text()
    assert text.startswith("# Comparisons\n\nHow to read them.\n\n## number 2\n")
    assert text.count("\n## ") == SECTIONS_KEPT
    assert f"\n## number {SECTIONS_KEPT + 1}\n" in text
