"""Template tags and filters for states and short texts."""

from datetime import timedelta

import pytest
from django.template import Context, Template
from django.template.loader_tags import BlockNode
from django.utils import timezone

from dnspanel.texts import gettext_lazy
from dnspanel.web.row_patterns import PatternRow
from dnspanel.web.templatetags import panel


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0, "0 s"),
        (59.9, "59 s"),
        (60, "1 min"),
        (3599, "59 min"),
        (7200, "2 h"),
        (86_400, "1 day"),
        (59 * 86_400, "59 days"),
        (90 * 86_400, "3 months"),
        (800 * 86_400, "2 years"),
    ],
)
def test_a_duration_is_said_in_the_largest_unit_that_fits(seconds: float, words: str) -> None:
    assert panel.duration(seconds) == words


def test_a_name_keeps_its_hyphens_on_one_line() -> None:
    assert panel.unbroken(gettext_lazy("Audit log")) == "Audit log"
    assert panel.unbroken("1 zone (a-b.test. on <ns1>) since 2026-11-30: late") == (
        '1 zone (<span class="long">a-b.test.</span> on &lt;ns1&gt;) since <span class="long">2026-11-30:</span> late'
    )


def test_matches_are_marked_in_any_case_and_texts_are_escaped() -> None:
    assert panel.mark_matches("Shop <b> workSHOP", ["shop", "workshop", ""]) == (
        "<mark>Shop</mark> &lt;b&gt; <mark>workSHOP</mark>"
    )
    assert panel.mark_matches("a&b", []) == "a&amp;b"
    assert panel.mark_matches("İx", ["x"]) == "İx"  # longer in lower case


def test_an_age_carries_its_exact_moment() -> None:
    at = timezone.now() - timedelta(minutes=3)
    display = panel.ago(at)
    assert f'title="{at:%Y-%m-%d %H:%M:%S} UTC"' in display
    assert ">3 min ago</time>" in display
    assert panel.ago(None) == "never"
    assert "just now" in panel.ago(timezone.now() + timedelta(seconds=2))


def test_a_name_is_shown_in_unicode_only_where_that_differs() -> None:
    assert panel.idn("xn--mnchen-3ya.test.") == "münchen.test."
    assert panel.idn("example.test.") == ""


def test_parameters_that_are_empty_do_not_stand_in_the_query_string() -> None:
    assert panel.querystring_of(q="", after="a b") == "after=a+b"


def test_icons_say_nothing_to_a_screen_reader() -> None:
    display = panel.icon("zones")
    assert 'aria-hidden="true"' in display
    assert "img/icons.svg#zones" in display
    assert panel.message_icon("error") == "error"
    assert panel.message_icon("success") == "check"


def test_counts_and_types_are_readable() -> None:
    assert panel.count(1234567) == "1,234,567"
    assert panel.rrtype(65401) == "ALIAS"


def test_a_search_by_tag_or_team_holds_words_together_by_quotes() -> None:
    assert panel.search_for("eu", "tag") == "q=tag%3Aeu"
    assert panel.search_for("Web ops", "team") == "q=team%3A%22Web+ops%22"


def test_folded_lines_say_the_same_with_fewer_blanks() -> None:
    source = """{% load panel %}{% folded %}<tbody
      class="rrset"
      data-row
    >
      <tr>
        <td>
          one  <b>two</b>
          <i>three</i>
        </td>
        <td></td>
      </tr>
    </tbody>{% endfolded %}"""
    folded = Template(source).render(Context())
    assert folded == ('<tbody class="rrset" data-row><tr><td> one  <b>two</b> <i>three</i></td><td></td></tr></tbody>')


@pytest.mark.parametrize(
    ("source", "folded"),
    [
        ("a  b", "a  b"),
        (" a \n\n  b ", " a b "),
        ("a\n", "a"),
        ("\n<ul>\n  <li>x\n  </li>\n</ul>\n", "<ul><li>x</li></ul>"),
        ("<b\n  >x</b\n>", "<b>x</b>"),
    ],
)
def test_only_line_breaks_are_folded(source: str, folded: str) -> None:
    assert Template(f"{{% load panel %}}{{% folded %}}{source}{{% endfolded %}}").render(Context()) == folded


def test_rows_of_one_shape_are_drawn_by_one_pattern() -> None:
    drawn: list[str] = []

    class Row(PatternRow):
        SHAPED_BY = ("kind",)
        FILLED_IN = ("text",)

        def __init__(self, kind: str, text: str) -> None:
            self.kind, self.text = kind, text

        @property
        def noted(self) -> str:
            drawn.append(self.kind)
            return ""

    source = "{% for row in rows %}{% patterned row %}{{ row.noted }}{{ row.kind }}{{ row.text }} {% endpatterned %}"
    template = Template(f"{{% load panel %}}{source}{{% endfor %}}{{{{ row.text }}}}")
    rows = [Row("a", "1"), Row("b", "<"), Row("a", "2")]
    for _ in "xy":  # cached objects don't outlive a page
        assert template.render(Context({"rows": rows, "row": Row("", "after")})) == "a1 b&lt; a2 after"
    assert drawn == ["a", "b"] * 2


def test_a_page_fills_a_block_within_folded_lines() -> None:
    assert Template(
        "{% load panel %}{% folded %}a\n{% block b %}\nb{% endblock %}{% endfolded %}"
    ).nodelist.get_nodes_by_type(BlockNode)


@pytest.mark.parametrize(
    ("text", "sentence"), [("in example.test.", "in example.test."), ("done", "done."), ("why?", "why?")]
)
def test_a_sentence_has_one_full_stop(text: str, sentence: str) -> None:
    assert panel.sentence(text) == sentence
