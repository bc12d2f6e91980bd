"""Pages of name server sets: creation, change, and the default for new zones. A zone displays the set it follows."""

from uuid import uuid4

import pytest
from django.test import Client

from dnspanel.accounts.models import AuditEntry, Role, Team, User
from dnspanel.zones.models import TemplateLink, TemplateVersion, Zone, ZoneTemplate
from dnspanel.zones.settings.server_sets import Servers, default_set, newest_set
from tests.dnspanel.transfer.zone_templates.test_server_set_text import HOUSE, OTHER, apex, make_set, make_team
from tests.dnspanel.web.conftest import Browser
from tests.people import make_person

pytestmark = pytest.mark.django_db(transaction=True)
LIST = "/settings/name-servers/"
TYPED = {"template_name": "House", "description": "", "hosts": "ns1.house.test\nNS2.house.test 192.0.2.7", "ttl": "300"}
NEW_ZONE = {"names": "new.test", "nameservers": "ns.typed.test", "hostmaster": "dns@typed.test", "reason": ""}


@pytest.fixture
def client(browser: Browser) -> Client:
    return browser(make_person("ada", Role.ADMINISTRATOR))


def says(template: ZoneTemplate) -> Servers:
    found = newest_set(template)
    assert found is not None
    return found.servers


def new_zone(client: Client, **fields: str) -> None:
    response = client.post("/zones/new/", {**NEW_ZONE, "form_id": str(uuid4()), **fields})
    assert response.status_code == 302, response.context["form"].errors


def test_a_set_is_made_made_the_default_and_changed(client: Client) -> None:
    assert "No name server sets yet" in client.get(LIST).content.decode()
    response = client.post(f"{LIST}new/", TYPED)
    made = ZoneTemplate.objects.get()
    assert response["Location"] == f"/settings/templates/{made.pk}/"
    assert says(made).names == HOUSE.names
    assert "ns2.house.test. 192.0.2.7" in client.get(response["Location"]).content.decode()
    client.post(f"{LIST}{made.pk}/default/", {"default": "yes"})
    assert (found := default_set(None)) is not None
    assert found.name == "House"
    page = client.get(LIST).content.decode()
    assert "ns1.house.test., ns2.house.test." in page
    assert "default" in page
    form = client.get(f"{LIST}{made.pk}/").context["form"]
    assert form.initial["hosts"] == "ns1.house.test.\nns2.house.test. 192.0.2.7"
    changed = {"hosts": "ns9.house.test", "hostmaster": "dns@house.test", "ttl": "60", "seen": "1"}
    assert client.post(f"{LIST}{made.pk}/", changed).status_code == 302
    assert (says(made).names, says(made).hostmaster, says(made).ttl) == (("ns9.house.test.",), "dns.house.test.", 60)
    assert client.post(f"{LIST}{made.pk}/", {**changed, "ttl": "61"}).status_code == 422  # the set has changed
    assert TemplateVersion.objects.count() == 2
    client.post(f"{LIST}{made.pk}/default/", {"default": ""})
    assert default_set(None) is None
    assert AuditEntry.objects.filter(action="template.default").count() == 2


@pytest.mark.parametrize(
    ("field", "value", "fault"),
    [
        ("hosts", "ns1.house.test 192.0.2.300", "isn’t a valid IP address"),
        ("hosts", "ns1.house.test node:nowhere", "Node nowhere not found."),
        ("ttl", "5", "greater than or equal to 60"),
        ("primary", "a..b", "a..b"),
        ("template_name", "Taken", "A template named Taken already exists."),
    ],
)
def test_what_cannot_be_is_said_at_its_field(client: Client, field: str, value: str, fault: str) -> None:
    make_set("Taken", HOUSE)
    response = client.post(f"{LIST}new/", {**TYPED, field: value})
    assert response.status_code == 422
    form = response.context["head" if field == "template_name" else "form"]
    assert fault in str(form.errors[field])
    assert ZoneTemplate.objects.count() == 1


def test_a_new_zone_begins_with_the_default_of_its_team_or_with_what_was_chosen(client: Client) -> None:
    web = make_team("Web")
    house, other = make_set("House", HOUSE), make_set("Ours", OTHER, web)
    new_zone(client)
    new_zone(client, names="web.test", team=str(web.pk))
    new_zone(client, names="chosen.test", team=str(web.pk), server_set=str(house.pk))
    new_zone(client, names="none.test", server_set="-1")
    assert apex("new.test.") == (HOUSE.names, "ns1.house.test.", "dns.typed.test.")
    assert apex("web.test.") == (OTHER.names, "a.other.test.", "dns.other.test.")
    assert apex("chosen.test.")[0] == HOUSE.names
    assert apex("none.test.") == (("ns.typed.test.",), "ns.typed.test.", "dns.typed.test.")
    links = dict(TemplateLink.objects.values_list("zone__name", "template"))
    assert links == {"new.test.": house.pk, "web.test.": other.pk, "chosen.test.": house.pk}


def test_without_sets_and_without_typed_name_servers_the_fields_say_so(client: Client) -> None:
    make_set("House", HOUSE, is_default=False)
    terms = {**NEW_ZONE, "nameservers": "", "form_id": str(uuid4())}
    assert "nameservers" in client.post("/zones/new/", terms).context["form"].errors
    assert not Zone.objects.exists()


def test_a_zone_says_which_set_it_follows_and_how_it_differs(client: Client) -> None:
    made = make_set("House", HOUSE)
    new_zone(client)
    settings = "/zones/new.test/settings/"
    page = client.get(settings).content.decode()
    assert "The published name servers match the set." in page
    client.post(f"{LIST}{made.pk}/", {"hosts": "ns1.house.test\nns3.house.test", "ttl": "3600", "seen": "1"})
    followed = client.get(settings).context["followed"]
    assert (followed.more, followed.fewer) == (("ns2.house.test.",), ("ns3.house.test.",))
    page = client.get(settings).content.decode()
    assert f"/zones/new.test./templates/{made.pk}/" in page
    url = f"/zones/new.test/templates/{made.pk}/"
    preview = client.post(url, {"act": "preview", "keep": "yes"})
    steps = [step.value for step in preview.context["applying"].steps]
    terms = {"act": "add", "keep": "yes", "seen": preview.context["applying"].seen, "step": steps}
    assert client.post(url, terms).status_code == 302
    draft = client.get("/zones/new.test/?in=draft").content.decode()
    assert "ns3.house.test." in draft


def test_a_team_s_set_is_not_shown_to_who_sees_no_zone_of_it(browser: Browser) -> None:
    made = make_set("Ours", OTHER, Team.objects.create(name="Web", created_at="2026-01-01T00:00Z"))
    member: User = make_person("mia", Role.MEMBER)
    assert browser(member).get(f"{LIST}{made.pk}/").status_code in (403, 404)
    assert "Ours" not in browser(member).get(LIST).content.decode()
