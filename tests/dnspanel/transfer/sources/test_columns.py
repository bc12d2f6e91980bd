import pytest

from dnspanel.transfer.sources.columns import CsvMapping, guessed_mapping, sniffed_delimiter


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_the_delimiter_is_the_one_that_cuts_evenly(delimiter: str) -> None:
    lines = [
        delimiter.join(("zone", "name", "type", "value")) + "\n",
        delimiter.join(("a.test", "www", "TXT", '"v=spf1, -all; x"')) + "\n",
        delimiter.join(("a.test", "@", "A", "192.0.2.1")) + "\n",
    ]

    assert sniffed_delimiter(lines) == delimiter


@pytest.mark.parametrize(
    ("header", "columns"),
    [
        (
            "zone,name,type,ttl,value,disabled,comment",
            {"zone": 0, "name": 1, "type": 2, "ttl": 3, "value": 4, "disabled": 5, "comment": 6},
        ),
        (
            "zone,name,type,ttl,value,disabled,comment,value_comment,tags",
            {"zone": 0, "value": 4, "comment": 6, "value_comment": 7, "tags": 8},
        ),
        ("Name,Type,Content,TTL,Tags", {"name": 0, "value": 2, "tags": None}),
        (
            "Zone,Record Name,Type,TTL,Data,Status,Comment",
            {"zone": 0, "name": 1, "type": 2, "ttl": 3, "value": 4, "comment": 6},
        ),
        ("Name,Type,Content,TTL,Proxied,Comment", {"name": 0, "type": 1, "value": 2, "ttl": 3, "comment": 5}),
        ("HostedZone,Name,Type,TTL,ResourceRecords", {"zone": 0, "name": 1, "type": 2, "ttl": 3, "value": 4}),
        ("Domain,Name,TTL,Class,Type,Record", {"zone": 0, "name": 1, "ttl": 2, "rdclass": 3, "type": 4}),
        ("Type,Host,Points to,Priority,TTL", {"type": 0, "name": 1, "value": 2, "priority": 3, "ttl": 4}),
        (
            "id,domain,name,type,content,ttl,prio",
            {"zone": 1, "name": 2, "type": 3, "value": 4, "ttl": 5, "priority": 6},
        ),
        ("subname,type,ttl,records,rdata", {"name": 0, "type": 1, "ttl": 2, "value": 4}),
    ],
)
def test_headers_of_common_exports_are_known(header: str, columns: dict[str, int | None]) -> None:
    mapping = guessed_mapping([header.split(",")], ",")

    assert mapping.header
    assert {field: getattr(mapping, field) for field in columns} == columns


def test_without_a_header_the_content_tells() -> None:
    rows = [["a.test", "www", "300", "IN", "A", "192.0.2.1"], ["a.test", "@", "60", "IN", "MX", "10 mail"]]
    mapping = guessed_mapping(rows, ";")

    assert mapping == CsvMapping(zone=0, name=1, ttl=2, rdclass=3, type=4, value=5, delimiter=";", header=False)
    assert guessed_mapping([["www", "A", "192.0.2.1"]], ",") == CsvMapping(name=0, type=1, value=2, header=False)


def test_what_is_missing_is_named() -> None:
    assert CsvMapping(type=1, value=2).missing == ["name", "zone"]
    assert CsvMapping(name=0, type=1, value=2, fixed_zone="a.test").missing == []
    assert CsvMapping(name=0, type=1, value=2, zones=["a.test"]).missing == []


def test_a_table_of_nothing_has_no_columns() -> None:
    assert guessed_mapping([], ",").missing == ["name", "type", "value", "zone"]
    assert guessed_mapping([["x"]], ",").missing == ["name", "type", "value", "zone"]
