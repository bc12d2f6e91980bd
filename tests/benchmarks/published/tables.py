"""The presentation of several servers' measurements on the page: a table, two charts, and the winner."""

from collections.abc import Iterable, Mapping, Sequence

from tests.benchmarks.published.charts import figure
from tests.benchmarks.published.result import Bar, Chart
from tests.benchmarks.serving import Figures, figures_of

Found = Mapping[str, Sequence[Figures]]  # by server; one entry for each round


def table(header: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """Return a table in Markdown. Numbers are formatted with `figure`."""
    head = list(header)
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *([_cell(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(cell: object) -> str:
    return figure(cell) if isinstance(cell, float) else f"{cell:,}" if isinstance(cell, int) else str(cell)


def answers_table(found: Found) -> str:
    """Return a table with the medians of each server's rounds, and its lost questions in all rounds."""
    medians = {name: figures_of(rounds) for name, rounds in found.items()}
    rows = [(name, one.qps, one.cpu_us, one.lost) for name, one in medians.items()]
    return table(("", "Answers/s", "Processor time per answer, µs", "Lost"), rows)


def answers_chart(name: str, title: str, found: Found) -> Chart:
    return Chart(name, title, "answers a second", bars(by_answers(found)))


def processor_chart(name: str, title: str, found: Found) -> Chart:
    return Chart(name, title, "µs of processor time per answer", bars(by_processor(found)), is_less_better=True)


def bars(values: Mapping[str, float]) -> tuple[Bar, ...]:
    return tuple(Bar(name, value) for name, value in values.items())


def by_answers(found: Found) -> dict[str, float]:
    return {name: figures_of(rounds).qps for name, rounds in found.items()}


def by_processor(found: Found) -> dict[str, float]:
    return {name: figures_of(rounds).cpu_us for name, rounds in found.items()}


def by_lost(found: Found) -> dict[str, float]:
    return {name: figures_of(rounds).lost for name, rounds in found.items()}


def who_wins(what: str, values: Mapping[str, float], *, is_less_better: bool = False, ours: str = "ours") -> str:
    """Return a sentence with the best server and its lead over dnspanel, or dnspanel's lead over the second."""
    best_first = sorted(values, key=lambda name: values[name], reverse=not is_less_better)
    best, second = best_first[0], next(name for name in best_first if name != ours)
    if values[best] == values[best_first[-1]]:
        return f"{what}: nobody wins."
    if values[best] == values[ours]:
        return f"{what}: ours wins, with {_against(values[ours], values[second])} {second}."
    return f"{what}: **{best} wins**, with {_against(values[best], values[ours])} ours."


def who_answers_most(found: Found, log: str = "", *, ours: str = "ours") -> str:
    return who_wins(f"Answers{log}", by_answers(found), ours=ours)


def who_computes_least(found: Found, log: str = "", *, ours: str = "ours") -> str:
    return who_wins(f"Processor time{log}", by_processor(found), is_less_better=True, ours=ours)


def _against(value: float, other: float) -> str:
    return f"{value / other:.2f} times" if value and other else f"{figure(value)} against {figure(other)} of"
