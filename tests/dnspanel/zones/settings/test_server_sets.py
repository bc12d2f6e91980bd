"""The records of a name server set in a zone. `transfer.zone_templates.test_servers` tests the default set."""

import pytest

from dnspanel.zones.models import Zone, ZoneTemplate
from dnspanel.zones.settings.server_sets import Host, Servers, ServerSet, default_set, has_servers_of, newest_set
from tests.dnspanel.zones.conftest import ZONE, rr
from tests.people import NOW

SAYS = Servers((Host("ns2.example.net."), Host("ns1.example.net.", ("192.0.2.1",), ())), "", "dns.example.net.", 300)
SOA = rr("@ 60 SOA p.test. h.test. 7 1 2 3 4")


def test_the_text_of_a_version_says_all_of_it() -> None:
    hosts = (Host("ns1.test.", ("192.0.2.1", "2001:db8::1")), Host("ns2.test.", nodes=("fra1",)), Host("ns3.test."))
    assert Servers(hosts, "p.test.", "h.test.", 60).text.splitlines() == [
        "@ 60 NS ns1.test.",
        "@ 60 NS ns2.test.",
        "@ 60 NS ns3.test.",
        "; ns1.test. 192.0.2.1 2001:db8::1",
        "; ns2.test. node:fra1",
        "; primary p.test.",
        "; hostmaster h.test.",
    ]


def test_a_soa_is_named_as_far_as_the_set_says_and_keeps_its_serial() -> None:
    assert SAYS.named_in(SOA) == rr("@ 60 SOA p.test. dns.example.net. 7 1 2 3 4")
    assert SAYS.named_in_new(SOA) == rr("@ 60 SOA ns2.example.net. dns.example.net. 7 1 2 3 4")


def test_a_zone_has_the_servers_of_a_set_whatever_their_order_and_ttl() -> None:
    house = ServerSet(1, "House", 1, SAYS)
    assert has_servers_of(house, ZONE, [SOA, rr("@ 60 NS ns1.example.net. | ns2.example.net.")])
    assert not has_servers_of(house, ZONE, [SOA, rr("@ 60 NS ns1.example.net.")])
    assert not has_servers_of(house, ZONE, [SOA, rr("sub 60 NS ns1.example.net. | ns2.example.net.")])


@pytest.mark.django_db
def test_a_template_of_another_kind_is_no_set() -> None:
    template = ZoneTemplate.objects.create(name="Web", kind="zone", created_at=NOW, changed_at=NOW)
    assert newest_set(template) is None
    assert default_set(None) is None
    assert not Zone.objects.exists()
