"""Tests of the fields of API v2, which accept only JSON's own types."""

from datetime import UTC, datetime
from typing import Any

import pytest
from rest_framework import serializers
from rest_framework.exceptions import ValidationError

from dnspanel.api.v2.http.problems import Problem
from dnspanel.api.v2.schema import fields, parsing
from replication.dns import rdtypes
from tests.work import work_of


class Every(fields.Shape):
    """A shape with one field of each type."""

    text = fields.Text(required=False)
    integer = fields.Integer(required=False, max_value=10)
    flag = fields.Flag(required=False)
    choice = fields.Choice(choices=[("a", "A")], required=False)
    at = fields.Moment(required=False)
    zone = fields.ZoneName(required=False)
    type = fields.RecordType(required=False)
    made = serializers.IntegerField(read_only=True)


@pytest.mark.parametrize(
    ("name", "sent", "meant"),
    [
        ("text", " as it is ", " as it is "),
        ("integer", 7, 7),
        ("integer", 7.0, 7),
        ("flag", False, False),
        ("choice", "a", "a"),
        ("at", "2026-11-21T12:00:00Z", datetime(2026, 11, 21, 12, tzinfo=UTC)),
        ("zone", "Bücher.Test", "xn--bcher-kva.test."),
        ("type", "aaaa", rdtypes.AAAA),
    ],
)
def test_a_value_is_taken_and_made_canonical(name: str, sent: Any, meant: Any) -> None:
    assert fields.read(Every, {name: sent}) == {name: meant}


@pytest.mark.parametrize(
    ("name", "sent"),
    [
        ("text", 5),
        ("text", True),
        ("text", None),
        ("text", ["a"]),
        ("text", ""),
        ("integer", "7"),
        ("integer", True),
        ("integer", 7.5),
        ("integer", 11),
        ("integer", 1e300),
        ("flag", "true"),
        ("flag", 1),
        ("flag", "yes"),
        ("choice", "b"),
        ("choice", ["a"]),
        ("choice", {"a": 1}),
        ("at", "2026-11-21"),
        ("at", "2026-11-21T12:00:00"),
        ("at", 1),
        ("at", "2026-13-41T12:00:00Z"),
        ("zone", "a..b"),
        ("zone", ""),
        ("zone", "x" * 64 + ".test"),
        ("zone", 7),
        ("type", "BOGUS"),
        ("type", "RRSIG"),
        ("type", "ANY"),
        ("type", 1),
        ("made", 1),
        ("unknown", 1),
    ],
)
def test_what_only_looks_like_it_is_refused(name: str, sent: Any) -> None:
    with pytest.raises(ValidationError) as caught:
        fields.read(Every, {name: sent})
    assert list(caught.value.detail) == [name]


@pytest.mark.parametrize("body", [None, [], "text", 5, [{}]])
def test_a_body_that_is_no_object_is_refused(body: Any) -> None:
    with pytest.raises(ValidationError):
        fields.read(Every, body)


def test_parameters_are_read_or_named_in_the_refusal() -> None:
    query = {"id": "7", "at": "2026-11-21T12:00:00Z", "text": "x"}
    assert fields.id_parameter(query, "id") == 7
    assert fields.id_parameter({}, "id") is None
    assert fields.moment_parameter(query, "at") == datetime(2026, 11, 21, 12, tzinfo=UTC)
    assert fields.text_parameter(query, "text") == "x"
    for read, wrong in (
        (fields.id_parameter, {"p": "0"}),
        (fields.id_parameter, {"p": "99999999999"}),
        (fields.id_parameter, {"p": "٣"}),
        (fields.moment_parameter, {"p": "now"}),
        (fields.text_parameter, {"p": "x" * 201}),
        (fields.text_parameter, {"p": "a\0b"}),
    ):
        with pytest.raises(Problem) as caught:
            read(wrong, "p")  # type: ignore[operator]
        assert caught.value.errors[0].parameter == "p"


class Nested(fields.Shape):
    """A shape with nested lists and objects."""

    zones = serializers.ListField(child=fields.ZoneName(), required=False, max_length=10)
    scopes = Every(many=True, required=False, max_length=3)
    values = fields.Members(child=fields.Text(), most=5, required=False)


class Outer(fields.Shape):
    """A shape that contains another one."""

    inner = Nested(many=True, required=False, max_length=3)


@pytest.mark.parametrize(
    ("shape", "body", "path"),
    [
        pytest.param(Nested, {"zones": ["a..b"] * 100_000}, ["zones"], id="a list"),
        pytest.param(Nested, {"scopes": [{"text": 1}] * 100_000}, ["scopes"], id="a list of objects"),
        pytest.param(Nested, {"values": {str(n): 1 for n in range(100_000)}}, ["values"], id="an object"),
        pytest.param(
            Outer, {"inner": [{"zones": ["a..b"] * 100_000}]}, ["inner", 0, "zones"], id="a list within objects"
        ),
    ],
)
def test_members_are_counted_before_they_are_read(shape: type[fields.Shape], body: Any, path: list[Any]) -> None:
    def refuse() -> None:
        with pytest.raises(ValidationError) as refused:
            fields.read(shape, body)
        detail = refused.value.detail
        for name in path:
            assert isinstance(detail, dict)
            detail = detail[name]
        assert "at most" in str(detail)

    assert work_of(refuse).steps < 5_000


def test_only_the_first_unknown_members_are_named() -> None:
    with pytest.raises(ValidationError) as refused:
        fields.read(Every, {f"x{number}": 1 for number in range(100_000)})
    assert len(refused.value.detail) == 100


def test_a_body_of_faults_is_left_at_a_thousand() -> None:
    faults = parsing.Faults()
    for number in range(1, parsing.MOST_FAULTS):
        parsing.read_rrset(number, "example.test.", f"/rrsets/{number}", faults)
    with pytest.raises(Problem) as refused:
        parsing.read_rrset(1000, "example.test.", "/rrsets/1000", faults)
    assert len(refused.value.errors) == parsing.MOST_FAULTS
