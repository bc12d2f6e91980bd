"""Tests of the validation of node settings."""

from typing import Any

import pytest

from dnspanel.fleet.errors import BadNode
from dnspanel.fleet.nodes.node_rules import MAX_TAGS, check_node, checked_tags

GOOD: dict[str, Any] = {
    "name": "ns1",
    "dns_address": "2001:db8::53",
    "dns_port": 53,
    "agent_host": "ns1.example.net",
    "agent_port": 8533,
    "schema": 6,
}


def test_a_good_description_passes() -> None:
    check_node(**GOOD)
    check_node(**{**GOOD, "agent_host": "192.0.2.1", "schema": 4})


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", "NS1"),
        ("name", "-ns"),
        ("name", ""),
        ("dns_address", "ns1.example.net"),
        ("dns_port", 0),
        ("agent_host", "no_host"),
        ("agent_host", "a..b"),
        ("agent_port", 65536),
        ("schema", 3),
        ("schema", 7),
    ],
)
def test_what_is_wrong_is_said_under_its_field(field: str, value: Any) -> None:
    with pytest.raises(BadNode) as refused:
        check_node(**{**GOOD, field: value})
    assert refused.value.field == field


def test_tags_are_sorted_lower_case_and_without_duplicates() -> None:
    assert checked_tags(["Berlin", " anycast ", "berlin", ""]) == ["anycast", "berlin"]


@pytest.mark.parametrize("tags", [["no_underscore"], ["-x"], ["x" * 33], [f"t{n}" for n in range(MAX_TAGS + 1)]])
def test_tags_that_cannot_be_are_refused(tags: list[str]) -> None:
    with pytest.raises(BadNode):
        checked_tags(tags)
