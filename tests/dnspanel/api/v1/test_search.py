"""Tests of the search over HTTP."""

import pytest

from dnspanel.accounts.models import User
from dnspanel.api.v1 import search, search_query
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


def test_what_may_lack_finds_says_so_and_what_found_nothing_so_far_is_refused(
    ask: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Regression test: with 20,000 zones, `www*` got 422, so PowerDNS-Admin's search found nothing."""
    monkeypatch.setattr(search_query, "MOST_COMPARED", 3)
    for number in range(3):
        make_zone(f"z{number}.test.", "www A 192.0.2.1", f"only{number} A 192.0.2.10{number}")

    def kinds(query: str) -> tuple[list[str], str | None]:
        done = ask("GET", f"/search-data?q={query}")
        assert done.status_code == 200
        return [found["object_type"] for found in done.json()], done.get(search.INCOMPLETE)

    assert kinds("www*&max=1&object_type=record") == (["record"], None), "as much as was wanted"
    assert kinds("www*") == (["record", "comment"], "1")
    assert kinds("192.0.2.1") == (["record"] * 4, "1"), "comments were not all compared"
    assert kinds("192.0.2.1&object_type=record") == (["record"] * 4, None)
    assert "too many places" in ask.error("GET", "/search-data?q=only2*")
    assert "too many places" in ask.error("GET", "/search-data?q=192.0.2.1&object_type=comment")
    monkeypatch.setattr(search_query, "MOST_COMPARED", 200_000)
    assert kinds("only2*") == (["record"], None)
