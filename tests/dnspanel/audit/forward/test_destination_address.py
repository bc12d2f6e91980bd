"""Tests of the input of destination addresses and headers."""

import pytest

from dnspanel.audit.forward.destination_address import format_headers, parse_headers, parse_syslog_address


@pytest.mark.parametrize(
    ("typed", "canonical"),
    [
        ("logs.example", "logs.example:6514"),
        (" Logs.Example.:1514 ", "logs.example:1514"),
        ("192.0.2.1:514", "192.0.2.1:514"),
        ("[2001:DB8::1]:6514", "[2001:db8::1]:6514"),
        ("2001:db8::1", "[2001:db8::1]:6514"),
        ("[2001:db8::1]", "[2001:db8::1]:6514"),
    ],
)
def test_an_address_is_a_host_and_a_port(typed: str, canonical: str) -> None:
    assert str(parse_syslog_address(typed)) == canonical
    assert str(parse_syslog_address(canonical)) == canonical


@pytest.mark.parametrize(
    "typed", ["", "tls://logs.example", "logs.example:0", "logs.example:70000", "logs.example:²", "logs.example:25"]
)
def test_what_is_none_is_refused(typed: str) -> None:
    with pytest.raises(ValueError, match=r"host|port|Port"):
        parse_syslog_address(typed)


@pytest.mark.parametrize("typed", ["[2001:db8::1", "[2001:db8::1]6514", "a b:6514"])
def test_an_address_that_is_half_one_is_refused(typed: str) -> None:
    with pytest.raises(ValueError, match=r"IPv6|host name"):
        parse_syslog_address(typed)


def test_headers_are_lines_of_a_name_and_a_value() -> None:
    headers = parse_headers("Authorization: Bearer a:b\r\n\r\nX-Tenant:7")
    assert headers == {"Authorization": "Bearer a:b", "X-Tenant": "7"}
    assert parse_headers(format_headers(headers)) == headers


@pytest.mark.parametrize(
    "typed",
    ["secret", "Na me: secret", "A:", "A: secret\x7f", "A: secrét", "Host: secret", "a: secret\nA: secret"],
    ids=["no colon", "space", "no value", "control", "not ascii", "ours", "twice"],
)
def test_headers_that_cannot_be_are_refused_without_their_values(typed: str) -> None:
    with pytest.raises(ValueError) as refused:  # noqa: PT011  (the text is looked at)
        parse_headers(typed)
    assert "secret" not in str(refused.value)


def test_headers_have_limits() -> None:
    with pytest.raises(ValueError, match="at most 10"):
        parse_headers("\n".join(f"X-{number}: 1" for number in range(11)))
    with pytest.raises(ValueError, match="at most 4,000"):
        parse_headers("A: " + "b" * 4_000)
