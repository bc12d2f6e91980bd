"""Dataclasses filled from objects with the same names (`database.field_copies`)."""

from dataclasses import dataclass
from types import SimpleNamespace

import pytest

from dnspanel.database.field_copies import copy_fields, values_of


@dataclass(frozen=True, slots=True)
class Terms:
    name: str
    tags: tuple[str, ...] = ()
    team: int | None = None


def test_a_dataclass_takes_the_values_of_the_same_names_from_a_row_or_a_mapping() -> None:
    row = SimpleNamespace(name="ns1", tags=["web"], team="not this one", more=1)
    assert copy_fields(Terms, row, team=3) == Terms("ns1", ("web",), 3)
    assert copy_fields(Terms, {"name": "ns1", "more": 1}) == Terms("ns1")
    assert values_of(row, ("name", "missing")) == {"name": "ns1"}
    with pytest.raises(TypeError, match="name"):
        copy_fields(Terms, {"tags": []})
