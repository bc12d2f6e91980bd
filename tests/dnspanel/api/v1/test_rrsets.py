"""Tests of the conversion of RRsets from and to PowerDNS's JSON."""

import json
from typing import Any

import pytest

from dnspanel.api.models import PowerdnsZone
from dnspanel.api.v1.rrsets import RRsetInput, number_in, read_key, read_rrset, rrset_text
from dnspanel.api.v1.view import Refusal
from replication.dns import rdtypes
from tests.people import NOW

ZONE = "example.test."
WWW = {"name": "WWW.example.test.", "type": "a", "ttl": 300, "records": [{"content": "192.0.2.1"}]}


def read(value: dict[str, object]) -> RRsetInput:
    return read_rrset(value, read_key(value), ZONE, NOW)


def test_names_and_types_become_canonical() -> None:
    parsed = read(WWW)
    assert (parsed.key, parsed.ttl) == (("www.example.test.", rdtypes.A), 300)
    assert parsed.records == {"192.0.2.1": False}
    assert parsed.comments is None
    assert parsed.rrset(300, "note").comment == "note"


@pytest.mark.parametrize(("value", "number"), [(300, 300), ("300", 300), (300.0, 300), (None, None), (0, 0)])
def test_numbers_may_come_in_quotes(value: Any, number: int | None) -> None:
    assert number_in({"ttl": value}, "ttl", 1000) == number


@pytest.mark.parametrize(
    "value", [True, "x", "", [], {}, 1.5, float("inf"), float("nan"), -1, 1001, "9" * 5000, 10**400]
)
def test_what_is_no_number_in_range_is_refused(value: Any) -> None:
    with pytest.raises(Refusal, match="ttl"):
        number_in({"ttl": value}, "ttl", 1000)


def test_an_answer_that_no_message_could_hold_is_refused() -> None:
    records = [{"content": '"' + "x" * 250 + f'{number}"'} for number in range(300)]
    parsed = read({**WWW, "type": "TXT", "records": records})
    with pytest.raises(Refusal, match=r"RRset www\.example\.test\. IN TXT: .* a DNS message can have"):
        parsed.rrset(300, "")


def test_comments_may_lack_account_and_time_but_not_content() -> None:
    parsed = read({**WWW, "comments": [{"content": "one"}]})
    assert parsed.comments == ({"account": "", "content": "one", "modified_at": int(NOW.timestamp())},)
    for comment in (
        {},
        {"content": None},
        "x",
        {"content": "x", "account": 5},
        {"content": "x", "modified_at": "soon"},
    ):
        with pytest.raises(Refusal, match="Key"):
            read({**WWW, "comments": [comment]})
    with pytest.raises(Refusal, match="2000 characters"):
        read({**WWW, "comments": [{"content": "x" * 2001}]})


def test_the_text_is_json_whatever_the_records_hold() -> None:
    row = ('a\\"b.example.test.', rdtypes.TXT, 60, ['"q\\"\\\\"', '"\\195\\169"'], ['"\\195\\169"'], "é “note”", "")
    displayed = json.loads(rrset_text(row, PowerdnsZone(), 5))
    assert displayed == {
        "comments": [{"account": "", "content": "é “note”", "modified_at": 5}],
        "name": row[0],
        "records": [{"content": row[3][0], "disabled": False}, {"content": row[3][1], "disabled": True}],
        "ttl": 60,
        "type": "TXT",
    }


@pytest.mark.parametrize(
    ("type_", "texts", "contents"),
    [
        (rdtypes.SOA, ["ns1.test. me\\@x.test. 1 2 3 4 5"], ["ns1.test. me@x.test. 1 2 3 4 5"]),
        (rdtypes.PTR, ["a.test.", "b\\$c.test."], ["a.test.", "b$c.test."]),
    ],
)
def test_names_are_escaped_as_powerdns_does_it(type_: int, texts: list[str], contents: list[str]) -> None:
    displayed = json.loads(rrset_text(("x.test.", type_, 60, texts, [], "", ""), PowerdnsZone(), 5))
    assert [record["content"] for record in displayed["records"]] == contents


def test_records_are_counted_before_they_are_read() -> None:
    value = {**WWW, "records": [{"content": "no address"}] * 100_000}
    with pytest.raises(Refusal, match="At most 5000 records, given 100000"):
        read(value)
