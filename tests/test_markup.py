"""One element, declaration or selector per line, and a check that finds violations."""

import pytest

from tests.markup import complaints, complaints_of_script, complaints_of_style_sheet, complaints_of_template, folded


def test_our_files_are_set_as_agreed() -> None:
    assert list(complaints()) == []


@pytest.mark.parametrize(
    "text",
    [
        "<ul>\n  <li>one</li>\n</ul>\n",
        '<p>text with <b>inline</b> <a href="">elements</a></p>\n',
        '<li{% if a < b %} class="is-on"{% endif %}>one</li>\n',
        "<table>\n  <tbody>\n    <tr>\n      <td>\n",
    ],
)
def test_a_template_may_be_set_so(text: str) -> None:
    assert list(complaints_of_template(text)) == []


@pytest.mark.parametrize("line", ["<ul><li>one</li>", "<dt>a</dt><dd>b</dd>", "<p>one</p> <p>two</p>", "x" * 121])
def test_a_template_may_not_be_set_so(line: str) -> None:
    assert [number for number, _ in complaints_of_template(f"<br>\n{line}\n")] == [2]


@pytest.mark.parametrize(
    "text",
    [
        "/* a; b; c */\n.a {\n  color: red;\n}\n",
        ".a,\n.b {\n  color: red;\n}\n",
        ":is(.a, .b) > c {\n  color: red;\n}\n",
        "@media print, (width < 4rem) {\n  .a {\n    color: red;\n  }\n}\n",
        ".a::before {\n  content: ';;';\n}\n",
        ".a {\n  box-shadow:\n    0 0 1px red,\n    0 0 2px blue;\n}\n",
        ".a {\n  transition: color 1s, left 2s,\n    top 3s;\n}\n",
    ],
)
def test_a_style_sheet_may_be_set_so(text: str) -> None:
    assert list(complaints_of_style_sheet(text)) == []


@pytest.mark.parametrize("line", [".a { left: 0; }", ".a, .b {", ".a, .b,", "top: 0; left: 0;", "/*" + "x" * 120])
def test_a_style_sheet_may_not_be_set_so(line: str) -> None:
    assert [number for number, _ in complaints_of_style_sheet(f"/* first */\n{line}\n")] == [2]


def test_a_script_has_no_line_of_more_than_120_columns() -> None:
    assert list(complaints_of_script("x" * 120)) == []
    assert list(complaints_of_script("\n" + "x" * 121)) == [(2, "121 columns")]


@pytest.mark.parametrize(
    ("html", "seen"),
    [
        ('<a\n  href="/"\n>one\n  two</a>\n<b>three</b>', '<a href="/">one two</a> <b>three</b>'),
        ("\n<ul>\n  <li> one </li>\n</ul>\n", "<ul><li>one</li></ul>"),
        ("<p>a</p> <pre\n  id='x'>1\n  2</pre> <p>b</p>", "<p>a</p><pre\n  id='x'>1\n  2</pre><p>b</p>"),
    ],
)
def test_white_space_that_nobody_sees_is_folded(html: str, seen: str) -> None:
    assert folded(html) == seen
