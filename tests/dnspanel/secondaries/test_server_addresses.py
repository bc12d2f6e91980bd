"""Tests of the input of addresses with ports, and of networks."""

import pytest

from dnspanel.secondaries.server_addresses import canonical_address, canonical_network, host_and_port, is_within


@pytest.mark.parametrize(
    ("typed", "canonical", "parts"),
    [
        (" 192.0.2.53 ", "192.0.2.53", ("192.0.2.53", 53)),
        ("192.0.2.53:53", "192.0.2.53", ("192.0.2.53", 53)),
        ("192.0.2.53:5300", "192.0.2.53:5300", ("192.0.2.53", 5300)),
        ("2001:DB8::53", "2001:db8::53", ("2001:db8::53", 53)),
        ("[2001:db8::53]:53", "2001:db8::53", ("2001:db8::53", 53)),
        ("[2001:db8:0::53]:5300", "[2001:db8::53]:5300", ("2001:db8::53", 5300)),
    ],
)
def test_an_address_has_one_form(typed: str, canonical: str, parts: tuple[str, int]) -> None:
    assert canonical_address(typed) == canonical
    assert host_and_port(canonical) == parts


@pytest.mark.parametrize(
    "typed",
    ["", "ns1.example.net", "192.0.2.53:0", "192.0.2.53:65536", "192.0.2.53:x", "[::1", "[::1]5", "fe80::1%eth0"],
)
def test_what_is_no_address_is_none(typed: str) -> None:
    assert canonical_address(typed) is None


def test_networks_and_single_addresses() -> None:
    assert canonical_network(" 192.0.2.9 ") == "192.0.2.9/32"
    assert canonical_network("192.0.2.9/24") is None, "which part of it was meant?"
    assert is_within("192.0.2.9", ["192.0.2.0/24"], [])
    assert not is_within("192.0.2.9", ["198.51.100.0/24"], ["192.0.2.9"])
    assert is_within("192.0.2.9", [], ["192.0.2.9:5300"])
    assert not is_within("2001:db8::1", [], ["192.0.2.9"])
