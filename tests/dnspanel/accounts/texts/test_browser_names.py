"""Tests of browser names."""

import pytest

from dnspanel.accounts.texts.browser_names import browser_name

MAC = "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/537.36 (KHTML, like Gecko)"


@pytest.mark.parametrize(
    ("header", "name"),
    [
        ("Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0", "Firefox on Linux"),
        (f"{MAC} Chrome/126.0.0.0 Safari/537.36", "Chrome on macOS"),
        (f"{MAC} Chrome/126.0.0.0 Safari/537.36 Edg/126.0.0.0", "Edge on macOS"),
        ("Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) Version/17.5 Mobile Safari/604.1", "Safari on iPhone"),
        ("Mozilla/5.0 (Linux; Android 14) AppleWebKit/537.36 Chrome/126.0 Mobile Safari/537.36", "Chrome on Android"),
        ("curl/8.5.0", "curl"),
        ("Lynx/2.9.0 " + "x" * 80, "Lynx/2.9.0 " + "x" * 49),
        ("", "unknown browser"),
    ],
)
def test_a_header_is_a_name(header: str, name: str) -> None:
    assert browser_name(header) == name
