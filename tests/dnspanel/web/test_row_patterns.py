"""Rows that look alike are rendered once, and then filled with each row's texts."""

from collections.abc import Callable
from functools import cached_property
from html import escape

import pytest
from django.utils.safestring import mark_safe

from dnspanel.web.row_patterns import NotOfPattern, PatternRow, RowPatterns


class Row(PatternRow):
    """A row with two attributes that shape its pattern and two that are filled in."""

    SHAPED_BY = ("tone", "address")
    FILLED_IN = ("name", "age")

    def __init__(self, name: str, *, tone: str = "ok", age: str = "", is_special: bool = False) -> None:
        self.name, self.tone, self.age, self.is_special = name, tone, age, is_special
        self.address = "/rows/"

    @property
    def has_pattern(self) -> bool:
        return not self.is_special

    @property
    def css(self) -> str:
        return f"is-{self.tone}"

    @cached_property
    def url(self) -> str:
        return self.at(self.address)

    def at(self, address: str) -> str:
        return f"{address}{self.name}"


class Drawing:
    """A row template that counts its renderings."""

    def __init__(self) -> None:
        self.count = 0

    def __call__(self, row: Row) -> str:
        self.count += 1
        return f"<tr class='{escape(row.css)}'><a href='{escape(row.url)}'>{escape(row.name)}</a> {row.age}</tr>"


def test_rows_of_one_shape_are_drawn_once() -> None:
    draw, patterns = Drawing(), RowPatterns()
    rows = [Row("a"), Row("b"), Row("c", tone="bad"), Row("d")]
    assert [patterns.draw_row(row, draw) for row in rows] == [Drawing()(row) for row in rows]
    assert draw.count == 2


def test_a_row_that_is_special_is_drawn_by_itself() -> None:
    draw, patterns = Drawing(), RowPatterns()
    rows = [Row("a", is_special=True), Row("b", is_special=True)]
    assert [patterns.draw_row(row, draw) for row in rows] == [Drawing()(row) for row in rows]
    assert draw.count == 2


def test_what_is_filled_in_is_escaped_but_html() -> None:
    patterns = RowPatterns()
    patterns.draw_row(Row("first"), Drawing())
    assert patterns.draw_row(Row("""<b>&"'""", age=mark_safe("<i>")), Drawing()) == (
        "<tr class='is-ok'><a href='/rows/&lt;b&gt;&amp;&quot;&#x27;'>&lt;b&gt;&amp;&quot;&#x27;</a> <i></tr>"
    )


@pytest.mark.parametrize(
    "decide",
    [
        lambda row: row.name or "nameless",
        lambda row: "it" if row.name == "www" else "other",
        lambda row: getattr(row, "is_special", ""),
        lambda row: getattr(row, "misspelt", ""),
        lambda row: row.at(row.age or ""),
    ],
)
def test_what_does_not_shape_a_row_decides_nothing(decide: Callable[[Row], str]) -> None:
    with pytest.raises(NotOfPattern, match="Row: "):
        RowPatterns().draw_row(Row("a"), decide)
