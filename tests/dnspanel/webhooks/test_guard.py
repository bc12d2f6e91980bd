"""Where the panel sends, and where nobody makes it send."""

from typing import Any

import pytest

from dnspanel.webhooks.errors import AddressRefused, NoAnswer
from dnspanel.webhooks.guard import Target, checked_addresses, is_allowed, parse_target, resolved
from tests.dnspanel.webhooks.receiver import resolve_to

TARGET = Target("https", "receiver.test", 443, "/")


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "127.255.255.254",
        "0.0.0.0",
        "10.0.0.1",
        "172.16.0.1",
        "172.31.255.255",
        "192.168.1.1",
        "169.254.169.254",
        "100.64.0.1",
        "100.127.255.255",
        "192.0.0.192",
        "198.18.0.1",
        "224.0.0.1",
        "239.1.1.1",
        "240.0.0.1",
        "255.255.255.255",
        "192.0.2.1",
        "192.88.99.1",
        "::",
        "::1",
        "fe80::1",
        "fe80::1%eth0",
        "fc00::1",
        "fd00:ec2::254",
        "ff02::1",
        "fec0::1",
        "2001:db8::1",
        "3fff::1",
        "5f00::1",
        "100::1",
        # IPv4 in other clothes
        "::ffff:127.0.0.1",
        "::ffff:169.254.169.254",
        "::ffff:0:10.0.0.1",
        "::127.0.0.1",
        "64:ff9b::127.0.0.1",
        "64:ff9b::a9fe:a9fe",
        "64:ff9b:1::1",
        "2002:7f00:1::",
        "2001::1",
        "2001:0:7f00:1::",
        "not an address",
        "",
    ],
)
def test_an_address_that_is_not_public_is_refused(address: str) -> None:
    assert not is_allowed(address)
    with pytest.raises(AddressRefused, match="not a public address"):
        checked_addresses(TARGET, resolve=resolve_to(address))


@pytest.mark.parametrize("address", ["9.9.9.9", "2620:fe::fe", "::ffff:9.9.9.9", "64:ff9b::9.9.9.9", "192.0.1.1"])
def test_a_public_address_is_allowed(address: str) -> None:
    assert checked_addresses(TARGET, resolve=resolve_to(address)) == [address]


def test_one_bad_address_among_good_ones_refuses_the_host() -> None:
    with pytest.raises(AddressRefused, match=r"10\.0\.0\.1"):
        checked_addresses(TARGET, resolve=resolve_to("9.9.9.9", "10.0.0.1"))


def test_the_operator_can_allow_networks_and_only_those(settings: Any) -> None:
    settings.OUTBOUND_NETWORKS = ["10.1.0.0/16", "fd00::/8"]
    assert is_allowed("10.1.2.3")
    assert is_allowed("::ffff:10.1.2.3")
    assert is_allowed("fd12::1")
    assert not is_allowed("10.2.0.1")
    assert not is_allowed("127.0.0.1")
    assert is_allowed("9.9.9.9")


def test_a_name_without_an_address_is_said_so() -> None:
    with pytest.raises(NoAnswer, match="no address"):
        checked_addresses(TARGET, resolve=resolve_to())
    with pytest.raises(NoAnswer, match="cannot be resolved"):
        resolved("nobody.invalid", 443)


def test_numbers_that_resolvers_take_for_addresses_are_seen_through() -> None:
    for spelling in ("https://2130706433/", "https://0x7f.1/", "https://127.1/", "https://0177.0.0.1/"):
        with pytest.raises((AddressRefused, NoAnswer)):
            checked_addresses(parse_target(spelling))


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("http://receiver.test/", "https"),
        ("ftp://receiver.test/", "https"),
        ("file:///etc/passwd", "https"),
        ("//receiver.test/", "https"),
        ("", "https"),
        ("https://", "no host"),
        ("https:///path", "no host"),
        ("https://user@receiver.test/", "user name"),
        ("https://user:secret@receiver.test/", "user name"),
        ("https://@receiver.test/", "user name"),
        ("https://receiver.test/#part", "fragment"),
        ("https://receiver.test:22/", "Port 22"),
        ("https://receiver.test:0/", "Port 0"),
        ("https://receiver.test:99999/", "not a URL"),
        ("https://receiver.test:x/", "not a URL"),
        ("https://[::1/", "not a URL"),
        ("https://receiver.test/a b", "spaces"),
        ("https://receiver.test/\r\nX: y", "spaces"),
        ("https://receiver.test\\@other.test/", "backslashes"),
        ("https://receiver.test/\x00", "control"),
        ("https://receiver.test/ü", "ASCII"),
        ("https://-bad-.test/", "host name"),
        ("https://a..test/", "host name"),
        ("https://receiver.test/" + "a" * 2000, "more than"),
    ],
)
def test_a_url_that_is_not_acceptable_says_which_part(url: str, why: str) -> None:
    with pytest.raises(AddressRefused, match=why):
        parse_target(url)


def test_a_url_is_taken_apart_as_the_request_is_made_from_it() -> None:
    assert parse_target("https://Receiver.TEST./a?b=c") == Target("https", "receiver.test", 443, "/a?b=c")
    assert parse_target("https://müller.test:8443").host_header == "xn--mller-kva.test:8443"
    assert parse_target("https://[2001:db8:0::1]:8443/").host_header == "[2001:db8::1]:8443"
    assert parse_target("https://receiver.test:443/").host_header == "receiver.test"


def test_plain_http_needs_the_operators_word(settings: Any) -> None:
    settings.OUTBOUND_HTTP = True
    assert parse_target("http://receiver.test/").port == 80
