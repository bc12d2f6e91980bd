"""Tests of `dnspanel name-servers`."""

from dnspanel.zones.models import KeptAddresses
from tests.dnspanel.cli.conftest import Run
from tests.dnspanel.fleet.conftest import MakeNode
from tests.dnspanel.transfer.zone_templates.test_server_set_text import apex


def test_a_set_is_made_new_zones_begin_with_it_and_one_that_differs_is_told(run: Run) -> None:
    assert run("name-servers", "list").err == "No sets of name servers.\n"
    servers = ("ns1.house.test,192.0.2.1,2001:db8::1", "ns2.house.test")
    made = run("name-servers", "create", "House", *servers, "--default")
    assert made.code == 0, made
    assert "ns1.house.test. 192.0.2.1 2001:db8::1" in made.out
    assert run("name-servers", "create", "House", "ns.test,node:nowhere").code == 1
    listed = run("name-servers", "list", "--output", "json").json
    assert [(each["name"], each["default"]) for each in listed] == [("House", True)]
    assert run("zones", "create", "a.test").code == 0
    assert apex("a.test.")[0] == ("ns1.house.test.", "ns2.house.test.")
    same = run("name-servers", "zone", "a.test")
    assert same.code == 0, same
    assert run("name-servers", "change", "House", "ns3.house.test", "--hostmaster", "dns.house.test").code == 0
    assert run("name-servers", "change", "House").code == 2
    differs = run("name-servers", "zone", "a.test", "--output", "json")
    assert (differs.code, differs.json["fewer"], differs.json["soa_differs"]) == (1, ["ns3.house.test."], True)
    number = str(listed[0]["id"])
    assert run("zones", "create", "b.test", "--set", number).code == 0
    assert apex("b.test.") == (("ns3.house.test.",), "ns3.house.test.", "dns.house.test.")
    assert run("name-servers", "show", number, "--output", "json").json["version"] == 2
    assert run("name-servers", "show", "Nothing").code == 2
    assert run("name-servers", "delete", "House").code == 0
    assert run("name-servers", "list").err == "No sets of name servers.\n"


def test_names_in_a_zone_here_have_the_addresses_of_nodes_and_what_the_parent_lacks_is_told(
    run: Run, active_node: MakeNode, settings: object
) -> None:
    settings.DNS_RESOLVERS = ["127.0.0.1:1"]  # type: ignore[attr-defined]  # where nobody answers
    address = active_node("ns1").dns_address
    assert run("zones", "create", "a.test", "--nameserver", "ns1.a.test").code == 0
    assert run("name-servers", "create", "House", "ns1.a.test,node:ns1").code == 0
    assert "a.test." in run("name-servers", "addresses", "House").out
    assert run("name-servers", "keep", "House", "a.test").code == 0
    assert address in run("records", "list", "a.test").out
    found = run("name-servers", "parent", "House", "a.test", "--output", "json")
    assert (found.code, [each["verdict"] for each in found.json["parent"]]) == (1, ["not-asked", "not-asked"]), found
    assert run("name-servers", "keep", "House", "a.test", "--stop").code == 0
    assert not KeptAddresses.objects.exists()
    assert run("name-servers", "parent", "House", "a.test").code == 1
