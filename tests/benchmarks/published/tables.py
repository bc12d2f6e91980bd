"""The presentation of several servers' measurements on the page: a table, two charts, and the winner."""

from collections.abc import Iterable, Mapping, Sequence

from tests.benchmarks.published.charts import OWN, display_label, figure
from tests.benchmarks.published.result import Bar, Chart
from tests.benchmarks.serving import Figures, figures_of

Found = Mapping[str, Sequence[Figures]]  # by server; one entry for each round
COLUMNS = (
    "*Answers/s* and *Processor time per answer* are the medians of all rounds. *Unanswered* is the number of queries "
    "in all rounds without an answer within 2 s."
)


def table(header: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """Return a table in Markdown. Numbers are formatted with `figure`."""
    head = list(header)
    lines = [head, ["---", *["---:"] * (len(head) - 1)], *([_cell(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(cell: object) -> str:
    return figure(cell) if isinstance(cell, float) else f"{cell:,}" if isinstance(cell, int) else str(cell)


def answers_table(found: Found) -> str:
    """Return a table with the medians of each server's rounds, and its unanswered queries in all rounds."""
    medians = {name: figures_of(rounds) for name, rounds in found.items()}
    rows = [(display_label(name), one.qps, one.cpu_us, one.lost) for name, one in medians.items()]
    return table(("Server", "Answers/s", "Processor time per answer, µs", "Unanswered"), rows)


def answers_chart(name: str, title: str, found: Found) -> Chart:
    return Chart(name, title, "answers per second", bars(by_answers(found)))


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


def who_wins(what: str, values: Mapping[str, float], *, unit: str = "", is_less_better: bool = False) -> str:
    """Return a sentence with the best server and its lead: over dnspanel, or dnspanel's lead over the second."""
    if len({*values.values()}) == 1:
        return f"{what}: no difference ({figure(values[OWN])}{unit})."
    choose = min if is_less_better else max
    rival = choose((name for name in values if name != OWN), key=lambda name: values[name])
    if _is_tie(values[rival], values[OWN]):
        return f"{what}: our node and {rival} are equal ({figure(values[OWN])} and {figure(values[rival])}{unit})."
    best = choose((OWN, rival), key=lambda name: values[name])
    other = rival if best == OWN else OWN
    name = "our node" if best == OWN else f"**{best}**"
    lead = f"ahead of {display_label(other)} with {figure(values[other])}{unit}"
    return f"{what}: {name} is best with {figure(values[best])}{unit}, {lead}{_factor(values[best], values[other])}."


def who_answers_most(found: Found, log: str = "") -> str:
    return who_wins(f"Answers{log}", by_answers(found), unit="/s")


def who_computes_least(found: Found, log: str = "") -> str:
    return who_wins(f"Processor time per answer{log}", by_processor(found), unit=" µs", is_less_better=True)


def _is_tie(value: float, other: float) -> bool:
    """Return True if the ratio of both values rounds to 1.00."""
    return value == other or bool(value and other and f"{value / other:.2f}" == "1.00")


def _factor(value: float, other: float) -> str:
    if not value or not other:
        return ""
    return f" by a factor of {figure(max(value, other) / min(value, other))}"
