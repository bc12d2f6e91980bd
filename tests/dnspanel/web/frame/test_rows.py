"""The display of RRsets in rows."""

import pytest

from dnspanel.web.frame.row_diffs import DisplayDiff, display_diffs
from dnspanel.web.frame.rows import DisplayRow, capitalize, display_rows, row_id, row_order, rrset_query
from dnspanel.zones.lists.rrset_pages import RRsetRow
from dnspanel.zones.log.history import diff
from replication.dns.rrset import Change, RRset

ZONE = "example.test."


def rrset(name: str = "www.example.test.", type: int = 1, ttl: int = 300, *values: str, off: tuple[str, ...] = ()):
    return RRset(name, type, ttl, values or ("192.0.2.1",), off)


def row(before: RRset | None, now: RRset | None, mark: str | None = None) -> RRsetRow:
    shape = now or before
    assert shape is not None
    return RRsetRow(Change(shape.name, shape.type, before, now), mark)  # type: ignore[arg-type]


def test_rows_sort_in_canonical_order() -> None:
    names = ["example.test.", "*.example.test.", "a.example.test.", "b.a.example.test.", "z.example.test."]
    orders = [row_order(ZONE, name, 1) for name in names]
    assert orders == sorted(orders)
    assert row_order(ZONE, "a.example.test.", 2) < row_order(ZONE, "a.example.test.", 16)


def test_the_id_of_a_row_is_safe_whatever_its_name() -> None:
    assert row_id(r"a\"b\.<x>.example.test.", 1).replace("rr-", "").isalnum()
    assert row_id("a.example.test.", 1) != row_id("a.example.test.", 28)


def test_an_owner_is_relative_and_readable() -> None:
    assert DisplayRow(ZONE, row(rrset(), rrset())).owner == "www"
    assert DisplayRow(ZONE, row(rrset("example.test."), None)).owner == "@"
    assert DisplayRow(ZONE, row(rrset("xn--bcher-kva.example.test."), None)).owner == "bücher"


def test_international_names_stand_in_both_forms() -> None:
    alias = rrset("xn--bcher-kva.example.test.", 5, 300, "xn--mnchen-3ya.test.")
    display = DisplayRow(ZONE, row(alias, alias))
    assert (display.owner, display.punycode) == ("bücher", "xn--bcher-kva")
    assert [(value.text, value.readable) for value in display.values] == [("xn--mnchen-3ya.test.", "münchen.test.")]
    change = DisplayDiff(ZONE, diff(Change(alias.name, alias.type, None, alias)))
    assert (change.punycode, [record.readable for record in change.records]) == ("xn--bcher-kva", ["münchen.test."])
    plain = DisplayRow(ZONE, row(rrset(), rrset("www.example.test.", 16, 300, '"include:xn--mnchen-3ya.test"')))
    assert (plain.punycode, [value.readable for value in plain.values]) == ("", [""])
    at_apex = DisplayRow("xn--bcher-kva.test.", row(rrset("xn--bcher-kva.test."), None))
    assert (at_apex.owner, at_apex.punycode) == ("@", "")
    nothing_legal = DisplayRow(ZONE, row(rrset("xn--a-ecp.example.test."), None))
    assert nothing_legal.punycode == ""


def test_a_long_rrset_shows_its_first_values_until_asked() -> None:
    many = rrset("www.example.test.", 1, 300, *(f"192.0.2.{n}" for n in range(100)))
    display = DisplayRow(ZONE, row(many, many))
    assert (len(display.values), display.hidden_values, display.is_compact) == (20, 80, True)
    full = DisplayRow(ZONE, row(many, many), all_values=True)
    assert (len(full.values), full.hidden_values) == (100, 0)


def test_a_changed_row_knows_its_old_ttl_and_values() -> None:
    display = DisplayRow(ZONE, row(rrset(), rrset("www.example.test.", 1, 60, "192.0.2.2"), "changed"))
    assert (display.sign, display.old_ttl, display.ttl) == ("~", 300, 60)
    assert [value.text for value in display.old_values] == ["192.0.2.1"]


def test_a_deleted_row_shows_what_goes() -> None:
    display = DisplayRow(ZONE, row(rrset(), None, "deleted"))
    assert display.is_deleted
    assert display.sign == "−"
    assert display.values[0].text == "192.0.2.1"


@pytest.mark.parametrize(
    ("mark", "sign", "css"), [("added", "+", "add"), ("changed", "~", "change"), ("deleted", "−", "delete")]
)
def test_a_mark_has_one_sign_and_one_class(mark: str, sign: str, css: str) -> None:
    before, now = (None if mark == "added" else rrset()), (None if mark == "deleted" else rrset())
    display = DisplayRow(ZONE, row(before, now, mark))
    assert (display.sign, display.sign_class, display.row_class) == (sign, css, f"is-{css}")
    assert (display.is_changed, display.is_editable) == (mark == "changed", mark != "deleted")


def test_a_row_that_the_draft_leaves_alone_has_no_class() -> None:
    display = DisplayRow(ZONE, row(rrset(), rrset()))
    assert (display.sign, display.sign_class, display.row_class, display.is_editable) == ("", "", "", True)


def test_who_may_not_change_a_row_cannot_edit_it() -> None:
    assert not DisplayRow(ZONE, row(rrset(), rrset()), may_change=False).is_editable


def test_the_records_of_a_difference_say_what_they_are() -> None:
    before = rrset("www.example.test.", 1, 300, "192.0.2.1", "192.0.2.2")
    after = rrset("www.example.test.", 1, 300, "192.0.2.2", "192.0.2.3")
    display = DisplayDiff(ZONE, diff(Change(before.name, before.type, before, after)))
    assert display.sign_class == "change"
    assert {(record.rdata, record.css, record.label) for record in display.records} == {
        ("192.0.2.1", "is-delete", "old: "),
        ("192.0.2.2", "is-same", ""),
        ("192.0.2.3", "is-add", "new: "),
    }


def test_rows_of_one_name_form_a_group() -> None:
    rows = [row(rrset(), None), row(rrset("www.example.test.", 28, 300, "2001:db8::1"), None), row(rrset("x."), None)]
    assert [display.repeats_name for display in display_rows(ZONE, rows)] == [False, True, False]


def test_a_difference_reads_as_a_zone_file() -> None:
    before = rrset("www.example.test.", 1, 300, "192.0.2.1", "192.0.2.2")
    after = rrset("www.example.test.", 1, 300, "192.0.2.2", "192.0.2.3", off=("192.0.2.3",))
    assert DisplayDiff(ZONE, diff(Change(before.name, before.type, before, after))).zone_file == [
        ("is-delete", "www.example.test. 300 IN A 192.0.2.1"),
        ("is-same", "www.example.test. 300 IN A 192.0.2.2"),
        ("is-add", "; www.example.test. 300 IN A 192.0.2.3"),
    ]
    [deleted] = display_diffs(ZONE, [diff(Change(before.name, before.type, before, None))])
    assert {css for css, _ in deleted.zone_file} == {"is-delete"}


def test_the_query_of_a_row_survives_any_name() -> None:
    assert rrset_query("a&b=c.example.test.", 1) == "name=a%26b%3Dc.example.test.&type=A"


def test_sentences_begin_with_a_capital_but_names_keep_theirs() -> None:
    assert capitalize("the address is wrong") == "The address is wrong"
    assert capitalize("www.example.test. is wrong", name="www.example.test.") == "www.example.test. is wrong"
