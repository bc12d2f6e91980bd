"""The page of a set's vanity names: start, stop, glue to copy, and the parent's records."""

import pytest
from django.test import Client

from dnspanel.accounts.models import Role
from dnspanel.fleet.models import Node, NodeState
from dnspanel.zones.models import KeptAddresses, ZoneTemplate
from dnspanel.zones.settings.server_sets import Host, Servers
from tests.dnspanel.fleet.conftest import create_active_node
from tests.dnspanel.transfer.zone_templates.test_server_set_text import make_set
from tests.dnspanel.web.conftest import Browser, MakeZone
from tests.people import make_person

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def vanity(make_zone: MakeZone) -> ZoneTemplate:
    make_zone(name="customer.test.")
    create_active_node("fra1")
    Node.objects.update(public_addresses=["192.0.2.1", "2001:db8::1"])
    return make_set("Customer", Servers((Host("ns1.customer.test.", nodes=("fra1",)),)), is_default=False)


@pytest.fixture
def client(browser: Browser) -> Client:
    return browser(make_person("ada", Role.ADMINISTRATOR))


def test_addresses_are_published_kept_asked_about_and_stopped(
    client: Client, vanity: ZoneTemplate, settings: object
) -> None:
    settings.DNS_RESOLVERS = ["127.0.0.1:1"]  # type: ignore[attr-defined]  # where nobody answers
    url = f"/settings/name-servers/{vanity.pk}/addresses/"
    assert f'href="{url}"' in client.get(f"/settings/templates/{vanity.pk}/").content.decode()
    page = client.get(url).content.decode()
    assert "ns1.customer.test. 192.0.2.1 2001:db8::1" in page
    assert "Automatic updates are disabled for these names." in page
    client.post(url, {"zone": "customer.test", "act": "keep"})
    page = client.get(url).content.decode()
    assert "Updates use ada’s rights" in page
    assert "192.0.2.1" in client.get("/zones/customer.test/").content.decode()
    client.post(url, {"zone": "customer.test", "act": "ask"})
    page = client.get(url).content.decode()
    assert "The delegation at the parent hasn’t been checked." in page
    Node.objects.update(state=NodeState.RETIRED)
    assert "All nodes for ns1.customer.test. were removed" in client.get(url).content.decode()
    client.post(url, {"zone": "customer.test", "act": "stop"})
    assert not KeptAddresses.objects.exists()


def test_who_may_not_change_the_zone_sees_no_button_and_is_refused(browser: Browser, vanity: ZoneTemplate) -> None:
    url, reader = f"/settings/name-servers/{vanity.pk}/addresses/", browser(make_person("rita", Role.READER))
    assert 'value="keep"' not in reader.get(url).content.decode()
    assert reader.post(url, {"zone": "customer.test", "act": "keep"}).status_code == 403
    assert reader.post(url, {"zone": "nowhere.test", "act": "keep"}).status_code == 404
    assert not KeptAddresses.objects.exists()


def test_what_is_wrong_is_said(client: Client, vanity: ZoneTemplate, make_zone: MakeZone) -> None:
    make_zone(name="other.test.")
    url = f"/settings/name-servers/{vanity.pk}/addresses/"
    page = client.post(url, {"zone": "other.test", "act": "keep"}, follow=True).content.decode()
    assert "This set doesn’t have any name servers inside other.test. that are assigned to nodes." in page
