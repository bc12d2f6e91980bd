"""Tests of request fields as users type them."""

from pathlib import Path
from typing import Any

import click
import pytest

from dnspanel.cli.fields import fields_of


@pytest.mark.parametrize(
    ("texts", "typed", "found"),
    [
        (["name=shop", "count=3"], [], {"name": "shop", "count": "3"}),
        (["reason=a=b"], ["empty="], {"reason": "a=b", "empty": ""}),
        ([], ["ttl=300", "on=true", "team=null", "word=shop"], {"ttl": 300, "on": True, "team": None, "word": "shop"}),
        ([], ['tags=["a", "b"]', 'act={"op": "delete"}'], {"tags": ["a", "b"], "act": {"op": "delete"}}),
        (["act[op]=add-tags", "act[tags][]=a", "act[tags][]=b"], [], {"act": {"op": "add-tags", "tags": ["a", "b"]}}),
        (["zones[][zone]=a.test.", "zones[][zone]=b.test."], [], {"zones": [{"zone": "a.test."}, {"zone": "b.test."}]}),
    ],
)
def test_fields_become_members(texts: list[str], typed: list[str], found: dict[str, Any]) -> None:
    assert fields_of(texts, typed) == found


def test_a_typed_value_can_be_the_text_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "text"
    path.write_text("$TTL 300\n")
    assert fields_of([], [f"text=@{path}"]) == {"text": "$TTL 300\n"}
    with pytest.raises(click.UsageError, match="cannot be read: No such file"):
        fields_of([], [f"text=@{tmp_path}/none"])


@pytest.mark.parametrize("text", ["name", "=x", "a[=x", "a]b=x", "[x]=1", "a[b]c=1"])
def test_what_is_not_a_field_is_refused(text: str) -> None:
    with pytest.raises(click.UsageError, match="is not a field: write key=value"):
        fields_of([text], [])


@pytest.mark.parametrize("texts", [["a=1", "a[b]=2"], ["a[b]=1", "a[]=2"], ["a[]=1", "a[b]=2"], ["a=1", "a[]=2"]])
def test_one_name_is_of_one_kind(texts: list[str]) -> None:
    with pytest.raises(click.UsageError, match="another field has the same name"):
        fields_of(texts, [])
