"""The changes that one action makes to many RRsets."""

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dnspanel.zones.plan import many_rrsets
from dnspanel.zones.plan.many_rrsets import Refused, replace_text, stars_of, try_act
from replication.dns.rrset import Notes
from tests.dnspanel.zones.conftest import rr

WWW = rr("www 300 A 192.0.2.1 | 192.0.2.2", comment="web", disabled=("192.0.2.2",))


def test_ttl_comment_and_switch_change_nothing_else() -> None:
    assert many_rrsets.set_ttl(60)(WWW) == rr("www 60 A 192.0.2.1 | 192.0.2.2", comment="web", disabled=("192.0.2.2",))
    assert many_rrsets.set_comment("")(WWW) == rr("www 300 A 192.0.2.1 | 192.0.2.2", disabled=("192.0.2.2",))
    assert many_rrsets.switch(on=True)(WWW) == rr("www 300 A 192.0.2.1 | 192.0.2.2", comment="web")
    assert many_rrsets.switch(on=False)(WWW) == rr(
        "www 300 A 192.0.2.1 | 192.0.2.2", comment="web", disabled=("192.0.2.1", "192.0.2.2")
    )


def test_a_zone_keeps_its_soa() -> None:
    soa = rr("@ 300 SOA ns1. host. 1 2 3 4 5")
    assert many_rrsets.delete(soa) == soa
    assert many_rrsets.delete(WWW) is None


def test_text_is_replaced_in_the_values_that_have_it_and_disabled_ones_stay_so() -> None:
    after = replace_text("192.0.2.", "198.51.100.")(WWW)
    assert after == rr("www 300 A 198.51.100.1 | 198.51.100.2", comment="web", disabled=("198.51.100.2",))
    assert replace_text("203.0.113.", "198.51.100.")(WWW) == WWW
    # Names ignore case, texts don't.
    assert replace_text("old.test", "new.test")(rr("@ 300 MX 10 A.Old.test.")) == rr("@ 300 MX 10 A.new.test.")
    assert replace_text("old", "new")(rr('@ 300 TXT "Old"')) == rr('@ 300 TXT "Old"')


@pytest.mark.parametrize(
    ("line", "find", "replacement", "after"),
    [
        ("www 300 A 192.0.2.1 | 192.0.22.1", "192.0.2.*", "198.51.100.*", "www 300 A 198.51.100.1 | 192.0.22.1"),
        (
            "@ 300 MX 10 a.old.test. | 20 b.new.test.",
            "* *.old.test.",
            "* *.new.test.",
            "@ 300 MX 10 a.new.test. | 20 b.new.test.",
        ),
        ("@ 300 MX 10 A.Old.test.", "* *.OLD.test.", "* *.new.test.", "@ 300 MX 10 A.new.test."),
        ("@ 300 MX 10 a.old.test.", "10 *", "50 mx.new.test.", "@ 300 MX 50 mx.new.test."),
        ("t 300 TXT aXbXc", '"*X*"', '"*-*"', "t 300 TXT a-bXc"),
        ("www 300 A 192.0.2.1", "192.0.2.1", "192.0.2.9", "www 300 A 192.0.2.9"),
        ("www 300 A 192.0.2.1", "92.0.2.*", "1.1.1.*", "www 300 A 192.0.2.1"),
    ],
)
def test_a_pattern_fits_whole_values(line: str, find: str, replacement: str, after: str) -> None:
    assert replace_text(find, replacement, is_pattern=True)(rr(line)) == rr(after)


def test_values_are_set_added_and_removed() -> None:
    assert many_rrsets.set_values(["192.0.2.9", "192.0.2.2"])(WWW) == rr(
        "www 300 A 192.0.2.2 | 192.0.2.9", comment="web", disabled=("192.0.2.2",)
    )
    assert many_rrsets.add_values(["192.0.2.1", "192.0.2.9"])(WWW) == rr(
        "www 300 A 192.0.2.1 | 192.0.2.2 | 192.0.2.9", comment="web", disabled=("192.0.2.2",)
    )
    assert many_rrsets.remove_values(["192.0.2.2", "no address"])(WWW) == rr("www 300 A 192.0.2.1", comment="web")
    assert many_rrsets.remove_values(["192.0.2.1", "192.0.2.2"])(WWW) is None
    soa = rr("@ 300 SOA ns1. host. 1 2 3 4 5")
    assert many_rrsets.remove_values(soa.rdata)(soa) == soa


@pytest.mark.parametrize("texts", [[], ["x" * 4_001], ["x"] * 101], ids=["none", "too long", "too many"])
def test_values_of_an_act_are_bounded(texts: list[str]) -> None:
    for act in (many_rrsets.set_values, many_rrsets.add_values, many_rrsets.remove_values):
        with pytest.raises(ValueError, match="1 to 100 values"):
            act(texts)


def test_what_would_be_no_value_is_refused_with_the_reason() -> None:
    found = try_act(replace_text("192", "999"), WWW, "example.test.")
    assert isinstance(found, Refused)
    assert "999.0.2.1" in found.reason
    assert isinstance(try_act(many_rrsets.set_ttl(2**31), WWW, "example.test."), Refused)


@pytest.mark.parametrize(
    ("find", "replacement", "is_pattern"),
    [("", "x", False), ("x" * 5000, "", False), ("x", "y" * 5000, False), ("*" * 9, "", True), ("a*", "*b*", True)],
)
def test_texts_and_stars_are_bounded(find: str, replacement: str, is_pattern: bool) -> None:
    with pytest.raises(ValueError, match=r"."):
        replace_text(find, replacement, is_pattern=is_pattern)


@given(st.text("ab*", max_size=6), st.text("ab", max_size=10))
def test_stars_stand_for_what_a_regular_expression_says(pattern: str, text: str) -> None:
    parts = pattern.split("*")
    expected = re.fullmatch("(.*?)".join(map(re.escape, parts)), text)
    found = stars_of(parts, text)
    assert (found is None) == (expected is None)
    if found is not None:
        pieces = [piece for pair in zip(parts, [*found, ""], strict=True) for piece in pair]
        assert "".join(pieces) == text


NOTED = replace(WWW, notes=Notes(("shop",), (("192.0.2.1", "first"), ("192.0.2.2", "second"))))


def test_tags_are_added_and_removed_and_have_a_limit() -> None:
    both = many_rrsets.add_tags(["Web", "shop"])(NOTED)
    assert both is not None
    assert both.notes.tags == ("shop", "web")
    assert many_rrsets.remove_tags(["web", "other"])(both) == NOTED
    full = many_rrsets.add_tags([f"t{number:02}" for number in range(20)])
    assert isinstance(try_act(full, NOTED, "example.test."), Refused)
    for act in (many_rrsets.add_tags, many_rrsets.remove_tags):
        with pytest.raises(ValueError, match="enter at least one tag"):
            act([" "])


def test_what_is_noted_stays_with_what_it_is_noted_of() -> None:
    kept = {
        many_rrsets.set_ttl(60): NOTED.notes,
        many_rrsets.set_comment("x"): NOTED.notes,
        many_rrsets.switch(on=True): NOTED.notes,
        many_rrsets.add_values(["192.0.2.3"]): NOTED.notes,
        many_rrsets.remove_values(["192.0.2.2"]): Notes(("shop",), (("192.0.2.1", "first"),)),
        many_rrsets.set_values(["192.0.2.2", "192.0.2.9"]): Notes(("shop",), (("192.0.2.2", "second"),)),
        replace_text("192.0.2.2", "192.0.2.9"): Notes(("shop",), (("192.0.2.1", "first"), ("192.0.2.9", "second"))),
    }
    for act, notes in kept.items():
        after = act(NOTED)
        assert after is not None
        assert after.notes == notes
