"""The effect of quick add on an existing RRset."""

import pytest

from dnspanel.web.editor.lines.additions import Occupied, add_entries, add_entry
from dnspanel.web.editor.lines.quick_add import read_line
from replication.dns.rrset import RRset
from replication.errors import BadRRset

ZONE = "example.test."
WWW = RRset("www.example.test.", 1, 300, ("192.0.2.1", "192.0.2.2"), ("192.0.2.2",), "web")


def line(text: str):
    return read_line(text, ZONE)


def test_a_new_rrset_takes_the_ttl_of_the_zone() -> None:
    addition = add_entry(line("www A 192.0.2.1"), None, 7200)
    assert addition.rrset == RRset("www.example.test.", 1, 7200, ("192.0.2.1",))
    assert not addition.ttl_is_set


def test_a_value_joins_its_rrset_and_keeps_its_ttl_comment_and_disabled_values() -> None:
    addition = add_entry(line("www A 192.0.2.3"), WWW, 7200)
    assert addition.rrset == RRset(WWW.name, 1, 300, ("192.0.2.1", "192.0.2.2", "192.0.2.3"), ("192.0.2.2",), "web")
    assert "to 2 existing values" in addition.says[0]


def test_a_stated_ttl_is_the_ttl_of_all_values_and_says_so() -> None:
    addition = add_entry(line("www 60 A 192.0.2.3"), WWW, 7200)
    assert addition.rrset.ttl == 60
    assert "from 300 to 60" in addition.says[1]


def test_a_value_that_is_there_changes_nothing() -> None:
    addition = add_entry(line("www A 192.0.2.1"), WWW, 7200)
    assert addition.changes_nothing


def test_adding_a_disabled_value_serves_it_again() -> None:
    addition = add_entry(line("www A 192.0.2.2"), WWW, 7200)
    assert addition.rrset.disabled == ()
    assert not addition.changes_nothing


def test_a_second_cname_is_asked_about_and_may_replace_the_first() -> None:
    now = RRset("a.example.test.", 5, 300, ("b.example.test.",))
    with pytest.raises(Occupied) as caught:
        add_entry(line("a CNAME c"), now, 7200)
    assert "b.example.test." in caught.value.message
    assert add_entry(line("a CNAME c"), now, 7200, replace=True).rrset.rdata == ("c.example.test.",)


def test_several_lines_make_one_rrset() -> None:
    addition = add_entries([line("www A 192.0.2.3"), line("www 60 A 192.0.2.4")], WWW, 7200)
    assert addition.rrset.rdata == ("192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.4")
    assert addition.rrset.ttl == 60
    assert addition.before == WWW


def test_an_rrset_that_no_answer_can_hold_is_refused() -> None:
    many = RRset("t.example.test.", 16, 60, tuple(f'"{n:03d}{"x" * 250}"' for n in range(240)))
    with pytest.raises(BadRRset):
        add_entries([line(f't TXT "{n}{"y" * 250}"') for n in range(20)], many, 60)
