"""Tests of answers that serializers write: members, foreign keys, times, and members that no serializer describes."""

from dataclasses import dataclass
from datetime import UTC, datetime, time

import pytest
from rest_framework import serializers

from dnspanel.api.v2.schema.row_json import row_json
from dnspanel.zones.models import Zone


class Described(serializers.Serializer):
    name = serializers.CharField()
    at = serializers.DateTimeField()
    quiet_from = serializers.TimeField()
    tags = serializers.ListField()
    secret = serializers.CharField(write_only=True)
    size = serializers.IntegerField()


@dataclass
class Row:
    name: str
    at: datetime | None
    quiet_from: time
    tags: tuple[str, ...]


def test_members_are_those_of_the_serializer_in_their_order() -> None:
    row = Row("a", datetime(2026, 11, 30, tzinfo=UTC), time(22), ("eu",))
    assert list(row_json(Described, row, size=3).items()) == [
        ("name", "a"),
        ("at", "2026-11-30T00:00:00.000000Z"),
        ("quiet_from", "22:00:00"),
        ("tags", ["eu"]),
        ("size", 3),
    ]
    row.at = None
    assert row_json(Described, row, size=3)["at"] is None


def test_foreign_keys_are_ids() -> None:
    class ZoneShape(serializers.Serializer):
        id = serializers.IntegerField()
        team = serializers.IntegerField()

    assert row_json(ZoneShape, Zone(pk=7, team_id=3)) == {"id": 7, "team": 3}


def test_a_member_that_the_serializer_does_not_describe_is_refused() -> None:
    row = Row("a", None, time(22), ())
    with pytest.raises(TypeError, match="Described does not describe more"):
        row_json(Described, row, size=3, more=1)
    with pytest.raises(AttributeError, match="size"):
        row_json(Described, row)
