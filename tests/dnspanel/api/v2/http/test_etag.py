"""Tests of If-Match and If-None-Match: the spellings of clients, and the revisions that match."""

import pytest
from rest_framework.request import Request
from rest_framework.test import APIRequestFactory

from dnspanel.api.v2.http.etag import Condition, condition_in, require, rrset_tag, zone_tag
from dnspanel.api.v2.http.problems import Problem
from tests.dnspanel.zones.conftest import rr


def condition(**headers: str) -> Condition:
    sent = {f"HTTP_{name.upper()}": value for name, value in headers.items()}
    return condition_in(Request(APIRequestFactory().get("/", **sent)))


@pytest.mark.parametrize(
    ("headers", "holds", "holds_for_nothing"),
    [
        ({}, True, True),
        ({"if_match": "*"}, True, False),
        ({"if_match": '"a"'}, True, False),
        ({"if_match": '"b", "a"'}, True, False),
        ({"if_match": '"b"'}, False, False),
        ({"if_match": 'W/"a"'}, True, False),  # a proxy that compresses makes it weak (RFC 9110)
        ({"if_none_match": "*"}, False, True),
        ({"if_none_match": '"a"'}, False, True),
        ({"if_none_match": 'W/"a"'}, False, True),
        ({"if_none_match": '"b"'}, True, True),
    ],
)
def test_a_condition_holds_for_what_it_says(headers: dict[str, str], holds: bool, holds_for_nothing: bool) -> None:
    assert condition(**headers).holds('"a"') is holds
    assert condition(**headers).holds(None) is holds_for_nothing


@pytest.mark.parametrize("text", ["a", '"a', '"a" "b"', '"ä"', "W/a", '"a",,"b"'])
def test_what_is_no_tag_is_refused(text: str) -> None:
    with pytest.raises(Problem) as caught:
        condition(if_match=text)
    assert caught.value.errors[0].header == "If-Match"


def test_a_tag_names_the_revision_that_was_read() -> None:
    assert condition(if_match=zone_tag(7, ["a"], None)).revision == 7
    assert condition(if_match='"x"').revision is None
    assert condition(if_match='"99999999999-0123456789abcdef"').revision is None


def test_tags_differ_by_everything_that_is_shown() -> None:
    www = rr("www 300 A 192.0.2.1 | 192.0.2.2")
    others = [
        rr("www 301 A 192.0.2.1 | 192.0.2.2"),
        rr("www 300 A 192.0.2.1"),
        rr("www 300 A 192.0.2.1 | 192.0.2.2", comment="x"),
        rr("www 300 A 192.0.2.1 | 192.0.2.2", disabled=("192.0.2.1",)),
    ]
    assert len({rrset_tag(rrset, 1) for rrset in (www, *others)}) == 5
    assert rrset_tag(www, 1) != rrset_tag(www, 2)
    assert len({zone_tag(1, [], None), zone_tag(1, ["a"], None), zone_tag(1, [], 1), zone_tag(2, [], None)}) == 4


def test_a_refusal_shows_what_there_is() -> None:
    with pytest.raises(Problem) as caught:
        require(condition(if_match='"3-0123456789abcdef"'), '"a"', theirs={"x": 1}, mine={"x": 2})
    assert caught.value.extensions == {"base": {"revision": 3}, "theirs": {"x": 1}, "mine": {"x": 2}}
    assert caught.value.headers == {"ETag": '"a"'}
