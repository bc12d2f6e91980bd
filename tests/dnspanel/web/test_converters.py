"""Names in URLs: each name has a path, and each path of a name converts back to that name."""

from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dnspanel.web.converters import ZoneNameConverter
from replication.dns import names

converter = ZoneNameConverter()

LABELS = st.lists(st.binary(min_size=1, max_size=20).filter(lambda label: 0 not in label), min_size=1, max_size=5)


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("example.test.", "example.test."),
        ("_dmarc.xn--mnchen-3ya.test.", "_dmarc.xn--mnchen-3ya.test."),
        ("0/25.2.0.192.in-addr.arpa.", "0=2F25.2.0.192.in-addr.arpa."),
        (".", "=2E"),
        ("*.wild.test.", "=2A.wild.test."),
        ("a=b.test.", "a=3Db.test."),
    ],
)
def test_a_path_is_written_as_powerdns_writes_its_zone_ids(name: str, path: str) -> None:
    assert converter.to_url(name) == path
    assert converter.to_python(path) == name


def test_a_person_may_type_a_name_as_it_comes() -> None:
    assert converter.to_python("Example.TEST") == "example.test."
    assert converter.to_python("münchen.test") == "xn--mnchen-3ya.test."


@pytest.mark.parametrize("path", ["a..b", "=FF=FE", ".."])
def test_what_is_no_name_does_not_match(path: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        converter.to_python(path)


@given(LABELS)
def test_every_name_survives_its_url(labels: list[bytes]) -> None:
    name = names.from_labels(tuple(label.lower() for label in labels))
    path = converter.to_url(name)
    assert "/" not in path
    assert path not in {".", ".."}
    assert converter.to_python(unquote(path)) == name
