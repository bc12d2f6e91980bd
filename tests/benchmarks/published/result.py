"""The result of a published test: its figures, charts and the rivals' configurations."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Bar:
    """One competitor's median in a chart, in the chart's unit."""

    label: str
    value: float


@dataclass(frozen=True, slots=True)
class Chart:
    """A bar chart. `name` is the name of its SVG file without the extension."""

    name: str
    title: str
    unit: str
    bars: tuple[Bar, ...]
    is_less_better: bool = False


@dataclass(slots=True)
class Result:
    """The result of one published test."""

    title: str
    # One or two sentences: what the test shows, and why that matters to an operator.
    purpose: str = ""
    # None if there is no measurement. The text then says why.
    figures: dict[str, float | None] = field(default_factory=dict)
    charts: list[Chart] = field(default_factory=list)
    # The method, the results and the winners, as sentences and Markdown tables for the page.
    text: list[str] = field(default_factory=list)
    # By competitor: its full configuration in the test.
    configurations: dict[str, str] = field(default_factory=dict)
