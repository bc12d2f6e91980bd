"""Patterns for ticket numbers."""

import pytest

from dnspanel.zones.governance.ticket_patterns import fault_of, ticket_in


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("OPS-12", "OPS-12"),
        ("Move the mail (OPS-7).", "OPS-7"),
        ("OPS-", ""),
        ("XOPS-7", ""),
        ("OPS-7a", ""),
        ("ops-7", ""),
        ("OPS-٣", ""),
        ("", ""),
    ],
)
def test_a_ticket_is_a_word_of_the_text(text: str, found: str) -> None:
    assert ticket_in(text, "OPS-#") == found


def test_a_pattern_may_have_several_numbers_and_what_a_regular_expression_would_read_otherwise() -> None:
    assert ticket_in("see a.b/12-7+", "a.b/#-#+") == "a.b/12-7+"
    assert ticket_in("see axb/12-7+", "a.b/#-#+") == ""


@pytest.mark.parametrize("pattern", ["OPS-", "OPS #", "##", "#7", "#" + "x" * 40, "a\t#"])
def test_a_pattern_that_cannot_be_is_told(pattern: str) -> None:
    assert fault_of(pattern)


def test_a_long_text_costs_one_look_at_each_character() -> None:
    # A regular expression such as (\d+)+- would need years for this.
    assert ticket_in("1" * 1_000_000, "#-#") == ""
    assert fault_of("OPS-#") == ""
