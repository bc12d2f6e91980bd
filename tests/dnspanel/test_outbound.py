"""Tests of outbound connections: addresses that the panel connects to, and addresses that it refuses."""

import pytest

from dnspanel.outbound import (
    BadHost,
    NoAddress,
    NotAllowed,
    allowed_addresses,
    canonical_host,
    is_allowed,
    resolve_host,
)
from tests.dnspanel.webhooks.receiver import resolve_to


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
        # IPv4 addresses in other notations
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
    assert not is_allowed(address, ())
    with pytest.raises(NotAllowed, match="a public address"):
        allowed_addresses("receiver.test", 443, (), resolve=resolve_to(address))


@pytest.mark.parametrize("address", ["9.9.9.9", "2620:fe::fe", "::ffff:9.9.9.9", "64:ff9b::9.9.9.9", "192.0.1.1"])
def test_a_public_address_is_allowed(address: str) -> None:
    assert allowed_addresses("receiver.test", 443, (), resolve=resolve_to(address)) == [address]


def test_one_bad_address_among_good_ones_refuses_the_host_and_is_not_read_out() -> None:
    with pytest.raises(NotAllowed, match="doesn’t resolve to a public address") as refused:
        allowed_addresses("office.test", 443, (), resolve=resolve_to("9.9.9.9", "10.0.0.1"))
    assert "10.0.0.1" not in str(refused.value)


def test_a_name_of_the_inside_and_one_that_there_is_not_are_refused_in_the_same_words() -> None:
    """Otherwise a user who can enter host names could learn which names the panel's resolver knows."""

    def fails(host: str, port: int) -> list[str]:
        raise NoAddress(f"{host} cannot be resolved: Name or service not known.")

    said = []
    for resolve in (resolve_to("10.0.0.1"), resolve_to(), fails):
        with pytest.raises((NotAllowed, NoAddress)) as refused:
            allowed_addresses("postgres", 443, (), resolve=resolve)
        said.append(str(refused.value))
    assert len(set(said)) == 1, said


def test_the_operator_can_allow_networks_and_only_those() -> None:
    networks = ["10.1.0.0/16", "fd00::/8"]
    allowed = ("10.1.2.3", "::ffff:10.1.2.3", "fd12::1", "9.9.9.9")
    assert [address for address in (*allowed, "10.2.0.1", "127.0.0.1") if is_allowed(address, networks)] == [*allowed]


def test_a_name_without_an_address_is_said_so() -> None:
    with pytest.raises(NoAddress, match="a public address"):
        allowed_addresses("nobody.test", 443, (), resolve=resolve_to())
    with pytest.raises(NoAddress, match="couldn’t be resolved"):
        resolve_host("nobody.invalid", 443)


@pytest.mark.parametrize("host", ["", "/run/postgresql", "a,b", "a..test", "-bad-.test", "a b", "a" * 254])
def test_what_is_no_host_is_refused(host: str) -> None:
    with pytest.raises(BadHost):
        canonical_host(host)
