"""The reverse zones for networks and addresses that people type."""

import pytest

from dnspanel.zones.values.reverse_names import address_of, classless_names, reverse_name, reverse_zones_of

V6 = "8.b.d.0.1.0.0.2.ip6.arpa."


@pytest.mark.parametrize(
    ("typed", "network", "choices"),
    [
        ("192.0.2.0/24", "192.0.2.0/24", [["2.0.192.in-addr.arpa."]]),
        ("192.0.2.9/24", "192.0.2.0/24", [["2.0.192.in-addr.arpa."]]),
        ("198.51.100.0/23", "198.51.100.0/23", [["100.51.198.in-addr.arpa.", "101.51.198.in-addr.arpa."]]),
        ("10.0.0.0/8", "10.0.0.0/8", [["10.in-addr.arpa."]]),
        ("0.0.0.0/0", "0.0.0.0/0", [["in-addr.arpa."]]),
        (" 192.0.2.17. ", "192.0.2.17", [["2.0.192.in-addr.arpa."]]),
        ("192.0.2.64/26", "192.0.2.64/26", [["64/26.2.0.192.in-addr.arpa."], ["2.0.192.in-addr.arpa."]]),
        ("2001:db8::/32", "2001:db8::/32", [[V6]]),
        ("2001:DB8::/31", "2001:db8::/31", [[V6, V6.replace("8", "9", 1)]]),
        ("2001:db8::1", "2001:db8::1", [["0.0.0.0.0.0.0.0." + V6], ["0.0.0.0." + V6]]),
        (
            "fe80::1%eth0",
            "fe80::1",
            [["0.0.0.0.0.0.0.0.0.0.0.0.0.8.e.f.ip6.arpa."], ["0.0.0.0.0.0.0.0.0.8.e.f.ip6.arpa."]],
        ),
    ],
)
def test_a_network_has_reverse_zones(typed: str, network: str, choices: list[list[str]]) -> None:
    found = reverse_zones_of(typed)
    assert found is not None
    assert (found.network, [list(zones) for zones in found.choices]) == (network, choices)


@pytest.mark.parametrize(
    "typed", ["example.com", "2.0.192.in-addr.arpa.", "64/26.2.0.192.in-addr.arpa.", "10", "", "/24"]
)
def test_a_name_is_none(typed: str) -> None:
    assert reverse_zones_of(typed) is None


def test_part_of_a_24_needs_help_in_the_zone_above() -> None:
    found = reverse_zones_of("192.0.2.64/26")
    assert found is not None
    assert "from 64 to 127. Example: 64 CNAME 64.64/26.2.0.192.in-addr.arpa." in found.hint


def test_no_network_has_more_than_128_zones() -> None:
    for typed in [*(f"10.0.0.0/{length}" for length in range(33)), *(f"2001:db8::/{length}" for length in range(129))]:
        found = reverse_zones_of(typed)
        assert found is not None
        assert max(map(len, found.choices)) <= 128


@pytest.mark.parametrize("address", ["192.0.2.65", "0.0.0.0", "2001:db8::5"])
def test_the_owner_of_a_ptr_leads_back_to_its_address(address: str) -> None:
    owners = [reverse_name(address), *classless_names(address)]
    assert {address_of(owner) for owner in owners} == {address}
    assert len(owners) == (1 if ":" in address else 17)


def test_classless_names_are_those_of_the_networks_around_an_address() -> None:
    found = classless_names("192.0.2.77")
    assert found[:2] == ["77.77/32.2.0.192.in-addr.arpa.", "77.77-32.2.0.192.in-addr.arpa."]
    assert "77.64/26.2.0.192.in-addr.arpa." in found
    assert found[-1] == "77.0-25.2.0.192.in-addr.arpa."


@pytest.mark.parametrize(
    "owner", ["www.example.com.", "2.0.192.in-addr.arpa.", "x.2.0.192.in-addr.arpa.", "300.2.0.192.in-addr.arpa."]
)
def test_other_names_have_no_address(owner: str) -> None:
    assert address_of(owner) is None
