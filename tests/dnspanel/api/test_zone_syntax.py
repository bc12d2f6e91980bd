"""Tests of semicolons and other zone file syntax in a record's content, which must not silently cut the content off."""

import pytest

from dnspanel.api.zone_syntax import has_zone_file_syntax


@pytest.mark.parametrize(
    "content", ['"a";b', '"a" ; b', '("a")', "a.test.;b.test.", "10 (mail.test.)", "10\nmail.test.", r'"a\\";b']
)
def test_what_a_zone_file_would_cut_off_or_join_is_seen(content: str) -> None:
    assert has_zone_file_syntax(content)


@pytest.mark.parametrize(
    "content",
    ['"a;b (c)"', r'"a\";b"', '"k=rsa; p=MIG" "x;y"', r"a\;b.test.", "192.0.2.1", "", r'0 issue "ca.test;x=1"'],
)
def test_text_is_text(content: str) -> None:
    assert not has_zone_file_syntax(content)
