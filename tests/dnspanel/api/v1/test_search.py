"""Searching over HTTP."""

import pytest

from dnspanel.accounts.models import User
from dnspanel.api.v1 import search_query
from dnspanel.zones.models import RRset
from tests.dnspanel.api.v1.calls import Caller, caller, make_zone


@pytest.fixture
def ask(bob: User) -> Caller:
    make_zone("a_b.test.", "www A 192.0.2.1")
    RRset.objects.filter(name="www.a_b.test.").update(comment="www.a_b.test")
    return caller(bob)


def test_each_kind_of_find_has_its_form(ask: Caller) -> None:
    where = {"zone": "a_b.test.", "zone_id": "a=5Fb.test."}
    zone = {"object_type": "zone", "name": "a_b.test.", "zone_id": "a=5Fb.test."}
    record = {
        "object_type": "record",
        "name": "www.a_b.test.",
        "type": "A",
        "ttl": 300,
        "content": "192.0.2.1",
        "disabled": False,
        **where,
    }
    comment = {"object_type": "comment", "name": "www.a_b.test.", "type": "A", "content": "www.a_b.test", **where}
    assert ask.value("GET", "/search-data?q=a_b.test&object_type=zone") == [zone]
    assert ask.value("GET", "/search-data?q=www.a_b.test") == [record, comment]
    assert ask.value("GET", "/search-data?q=www.a_b.test&object_type=record") == [record]
    assert ask.value("GET", "/search-data?q=www.a_b.test&object_type=comment") == [comment]
    assert len(ask.value("GET", "/search-data?q=*a_b*")) > 3
    assert len(ask.value("GET", "/search-data?q=*a_b*&max=1")) == 3


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("", "Query q can't be blank"),
        ("q=", "Query q can't be blank"),
        ("q=%00", "no zero byte"),
        ("q=" + "a" * 1001, "at most 1000 characters"),
        ("q=a&max=0", "Maximum entries must be larger than 0"),
        ("q=a&max=-5", "Maximum entries must be larger than 0"),
        ("q=a&max=many", "Maximum entries must be a number"),
        ("q=a&max=%C2%B2", "Maximum entries must be a number"),
        ("q=a&object_type=node", "object_type must be one of the following options: all, zone, record, comment"),
    ],
)
def test_bad_questions_are_refused(query: str, message: str, ask: Caller) -> None:
    assert message in ask.error("GET", f"/search-data?{query}")


def test_more_than_the_most_can_be_asked_for(ask: Caller) -> None:
    assert ask.value("GET", "/search-data?q=a_b.test&max=4294967296")


def test_comments_that_cannot_be_compared_hold_up_only_who_asks_for_them(
    ask: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search_query, "MOST_COMPARED", 0)
    assert [found["object_type"] for found in ask.value("GET", "/search-data?q=192.0.2.1")] == ["record"]
    assert "too many places" in ask.error("GET", "/search-data?q=192.0.2.1&object_type=comment")
    assert "too many places" in ask.error("GET", "/search-data?q=*")
