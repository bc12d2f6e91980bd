"""Tests of the webhook addresses that the panel accepts and refuses."""

from typing import Any

import pytest

from dnspanel.webhooks.address_guard import Target, checked_addresses, parse_target
from dnspanel.webhooks.errors import AddressRefused, NoAnswer
from tests.dnspanel.webhooks.receiver import resolve_to

TARGET = Target("https", "receiver.test", 443, "/")


def test_an_address_that_is_not_public_is_refused_and_the_operator_can_allow_it(settings: Any) -> None:
    with pytest.raises(AddressRefused, match="a public address"):
        checked_addresses(TARGET, resolve=resolve_to("9.9.9.9", "10.1.2.3"))
    settings.OUTBOUND_NETWORKS = ["10.1.0.0/16"]
    assert checked_addresses(TARGET, resolve=resolve_to("10.1.2.3")) == ["10.1.2.3"]


def test_a_name_without_an_address_is_said_so() -> None:
    with pytest.raises(NoAnswer, match="a public address"):
        checked_addresses(TARGET, resolve=resolve_to())


def test_numbers_that_resolvers_take_for_addresses_are_seen_through() -> None:
    for spelling in ("https://2130706433/", "https://0x7f.1/", "https://127.1/", "https://0177.0.0.1/"):
        with pytest.raises((AddressRefused, NoAnswer)):
            checked_addresses(parse_target(spelling))


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("http://receiver.test/", "https"),
        ("ftp://receiver.test/", "https"),
        ("file:///etc/passwd", "https"),
        ("//receiver.test/", "https"),
        ("", "https"),
        ("https://", "contain a host"),
        ("https:///path", "contain a host"),
        ("https://user@receiver.test/", "user name"),
        ("https://user:secret@receiver.test/", "user name"),
        ("https://@receiver.test/", "user name"),
        ("https://receiver.test/#part", "fragment"),
        ("https://receiver.test:22/", "Port 22"),
        ("https://receiver.test:0/", "Port 0"),
        ("https://receiver.test:99999/", "This URL isn’t valid"),
        ("https://receiver.test:x/", "This URL isn’t valid"),
        ("https://[::1/", "This URL isn’t valid"),
        ("https://receiver.test/a b", "spaces"),
        ("https://receiver.test/\r\nX: y", "spaces"),
        ("https://receiver.test\\@other.test/", "backslashes"),
        ("https://receiver.test/\x00", "control"),
        ("https://receiver.test/ü", "ASCII"),
        ("https://-bad-.test/", "host name"),
        ("https://a..test/", "host name"),
        ("https://receiver.test/" + "a" * 2000, "at most"),
    ],
)
def test_a_url_that_is_not_acceptable_says_which_part(url: str, reason: str) -> None:
    with pytest.raises(AddressRefused, match=reason):
        parse_target(url)


def test_a_url_is_taken_apart_as_the_request_is_made_from_it() -> None:
    assert parse_target("https://Receiver.TEST./a?b=c") == Target("https", "receiver.test", 443, "/a?b=c")
    assert parse_target("https://müller.test:8443").host_header == "xn--mller-kva.test:8443"
    assert parse_target("https://[2001:db8:0::1]:8443/").host_header == "[2001:db8::1]:8443"
    assert parse_target("https://receiver.test:443/").host_header == "receiver.test"


def test_plain_http_needs_the_operators_word(settings: Any) -> None:
    settings.OUTBOUND_HTTP = True
    assert parse_target("http://receiver.test/").port == 80


def test_names_of_the_inside_and_names_that_there_are_not_are_refused_alike(settings: Any) -> None:
    said = set()
    for resolve in (resolve_to("10.1.2.3"), resolve_to("127.0.0.1"), resolve_to()):
        with pytest.raises((AddressRefused, NoAnswer)) as refused:
            checked_addresses(TARGET, resolve=resolve)
        said.add(str(refused.value))
    assert len(said) == 1
