import io
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dnspanel.transfer.sources import json_stream
from dnspanel.transfer.sources.json_stream import BadJson, members

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


def slow(text: bytes, size: int) -> Callable[[int], bytes]:
    """Set the stream's first read to `size` bytes, and return a read function for the text."""
    json_stream._FIRST_READ = size
    return io.BytesIO(text).read


@pytest.fixture(autouse=True)
def _steps() -> Iterator[None]:
    step = json_stream._FIRST_READ
    yield
    json_stream._FIRST_READ = step


@given(value=st.lists(JSON, max_size=5) | st.dictionaries(st.text(), JSON, max_size=5), size=st.integers(1, 40))
def test_members_are_those_that_json_finds_however_the_text_is_cut(value: Any, size: int) -> None:
    text = json.dumps(value, ensure_ascii=False, indent=1).encode()
    found = list(members(slow(text, size)))
    expected = list(value.items()) if isinstance(value, dict) else [("", element) for element in value]
    assert found == expected


def test_the_elements_of_a_named_array_come_one_by_one() -> None:
    text = b'{"a": [1, 2], "rrsets": [{"x": 1}, {"x": 2}], "empty": [], "z": null}'
    found = list(members(slow(text, 7), split=("rrsets", "empty", "z")))
    assert found == [("a", [1, 2]), ("rrsets", {"x": 1}), ("rrsets", {"x": 2}), ("z", None)]


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"  ",
        b"12",
        b'"text"',
        b"[1",
        b"[1 2]",
        b"[1,]",
        b'{"a" 1}',
        b'{"a": 1',
        b"{1: 2}",
        b"nonsense",
        b'{"a": "\xff"}',
    ],
)
def test_what_is_no_json_is_refused(text: bytes) -> None:
    with pytest.raises(BadJson):
        list(members(slow(text, 3)))


def test_a_value_beyond_all_measure_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_stream, "MOST_VALUE", 1000)
    with pytest.raises(BadJson, match="too large"):
        list(members(slow(b'["' + b"x" * 10_000 + b'"]', 100)))


def test_deep_nesting_is_refused() -> None:
    with pytest.raises(BadJson):
        list(members(slow(b"[" * 100_000, 1 << 20)))
