"""Pages of templates: creation, checks while typing, versions, comparison and deletion.

Tests `zone_templates.newer_version` too.
"""

from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from dnspanel.accounts.models import Role, Team, User
from dnspanel.accounts.people.teams import create_team, set_member
from dnspanel.transfer.zone_templates import edit_template
from dnspanel.transfer.zone_templates.edit_template import Text
from dnspanel.transfer.zone_templates.queries import linked_page
from dnspanel.web.zone_templates.forms import TextForm
from dnspanel.zones.models import TemplateKind, TemplateLink, TemplateVersion, Zone, ZoneTemplate
from tests.dnspanel.transfer.zone_templates.conftest import IP, MX, WEB, MakeTemplate
from tests.dnspanel.transfer.zone_templates.conftest import make_template as make_template
from tests.dnspanel.transfer.zone_templates.conftest import template as template
from tests.dnspanel.web.conftest import HTMX, Browser, MakeZone
from tests.people import NOW, make_person

LIST = "/settings/templates/"
NEW = f"{LIST}new/"
DECLARED = {
    "kind-ip": "ipv4", "label-ip": "Address", "default-ip": "",
    "kind-mx": "hostname", "label-mx": "Mail server", "default-mx": "mx.example.net.",
}  # fmt: skip


def typed(**fields: str) -> dict[str, str]:
    return {"template_name": "Web", "description": "", "kind": "zone", "text": WEB, "note": "", **DECLARED, **fields}


def form_of(response: Any) -> TextForm:
    form = response.context["text"]
    assert isinstance(form, TextForm)
    return form


@pytest.fixture
def client(browser: Browser, bob: User) -> Client:
    return browser(bob)


def test_without_templates_the_page_says_what_they_are_and_who_makes_them(
    browser: Browser, client: Client, charlie: User
) -> None:
    assert f'href="{NEW}"' in client.get(LIST).content.decode()
    page = browser(charlie).get(LIST).content.decode()
    assert NEW not in page
    assert "the right to manage templates" in page
    assert browser(charlie).get(NEW).status_code == 403


def test_a_template_is_made_and_shown(client: Client) -> None:
    assert client.get(f"{NEW}?kind=snippet").context["head"].initial["kind"] == TemplateKind.SNIPPET
    response = client.post(NEW, typed(description="For shops"))
    made = ZoneTemplate.objects.get()
    assert response["Location"] == f"{LIST}{made.pk}/"
    version = TemplateVersion.objects.get()
    assert (version.text, version.variables) == (WEB, [IP.to_json(), MX.to_json()])
    page = client.get(response["Location"]).content.decode()
    assert "Mail server" in page
    assert "For shops" in page
    assert "Web" in client.get(LIST).content.decode()


def test_variables_that_were_not_declared_get_a_row_and_nothing_is_made(client: Client) -> None:
    response = client.post(NEW, {"template_name": "Web", "kind": "zone", "text": WEB})
    assert response.status_code == 422
    assert [row.name for row in form_of(response).rows] == ["ip", "mx"]
    assert 'name="kind-ip"' in response.content.decode()
    assert not ZoneTemplate.objects.exists()


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"text": "@ A nonsense"}, "Line 1, column 5"),
        ({"text": "@ A {{ ip"}, "Line 1, column 5"),
        ({"template_name": " "}, "This field is required"),
        ({"default-ip": "x"}, "Invalid default: “x” isn’t a valid IPv4 address"),
        ({"template_name": " ", "default-ip": "x"}, "Invalid default: “x” isn’t a valid IPv4 address"),
        ({"kind": "both"}, "Select a valid choice"),
        ({"text": "x" * 70_000}, "at most 65536 characters"),
    ],
)
def test_what_is_wrong_is_told_at_its_place(client: Client, fields: dict[str, str], message: str) -> None:
    response = client.post(NEW, typed(**fields))
    assert response.status_code == 422
    assert message in response.content.decode()
    assert not ZoneTemplate.objects.exists()


def test_the_text_is_checked_while_it_is_typed(client: Client, template: ZoneTemplate) -> None:
    for path in (NEW, f"{LIST}{template.pk}/edit/"):
        response = client.post(path, typed(), headers=HTMX)
        page = response.content.decode()
        assert "<html" not in page
        assert "blog 300 CNAME example.com." in page
        page = client.post(path, typed(text="@ A {{ ip }}\nwww A {{ ip }}x"), headers=HTMX).content.decode()
        assert "Line 2, column 7" in page
        page = client.post(path, typed(text="@ A {{ new }}"), headers=HTMX).content.decode()
        assert 'name="kind-new"' in page
    assert TemplateVersion.objects.count() == 1


def test_another_version_is_published_and_compared(client: Client, template: ZoneTemplate) -> None:
    path = f"{LIST}{template.pk}/edit/"
    opened = form_of(client.get(path))
    assert [(row.name, row.kind, row.default) for row in opened.rows] == [
        ("ip", "ipv4", ""),
        ("mx", "hostname", "mx.example.net."),
    ]
    fields = typed(text=WEB.replace("300", "60"), note="shorter", seen="1")
    assert client.post(path, fields)["Location"] == f"{LIST}{template.pk}/"
    page = client.get(f"{LIST}{template.pk}/versions/2/").content.decode()
    assert '<div class="diff-line is-delete"><span>$TTL 300</span></div>' in page
    assert '<div class="diff-line is-add"><span>$TTL 60</span></div>' in page
    assert client.get(f"{LIST}{template.pk}/versions/1/").status_code == 200
    assert client.get(f"{LIST}{template.pk}/versions/3/").status_code == 404
    page = client.post(path, fields | {"text": WEB}).content.decode()
    assert "The template is already at version 2" in page
    assert "No changes to publish" in client.post(path, fields | {"seen": "2"}, follow=True).content.decode()
    assert TemplateVersion.objects.count() == 2


def test_its_name_changes(client: Client, template: ZoneTemplate) -> None:
    path = f"{LIST}{template.pk}/name/"
    assert client.get(path).context["form"].initial["template_name"] == "Web"
    assert client.post(path, {"template_name": "Site", "description": "x"}).status_code == 302
    template.refresh_from_db()
    assert (template.name, template.description) == ("Site", "x")
    assert client.post(path, {"template_name": ""}).status_code == 422


def test_a_template_of_a_team_is_that_teams(browser: Browser, make_template: MakeTemplate, alice: User) -> None:
    team = create_team(name="Shops", by=alice, now=NOW)
    own, other = (
        make_template(name="Own", team=team),
        make_template(name="Other", team=create_team(name="B", by=alice, now=NOW)),
    )
    mia = make_person("mia", Role.MEMBER)
    set_member(team=team, user=mia, role=Role.EDITOR, by=alice, now=NOW)
    client = browser(mia)
    assert client.get(f"{LIST}{own.pk}/edit/").status_code == 200
    assert client.get(f"{LIST}{other.pk}/").status_code == 404
    assert "Other" not in client.get(LIST).content.decode()
    of_panel = make_template()
    assert client.get(f"{LIST}{of_panel.pk}/").status_code == 200
    assert client.get(f"{LIST}{of_panel.pk}/edit/").status_code == 403
    refused = client.post(NEW, typed(template_name="Mine"))
    assert refused.status_code == 422
    assert client.post(NEW, typed(template_name="Mine", team=str(team.pk))).status_code == 302
    assert ZoneTemplate.objects.get(name="Mine").team == team
    assert Team.objects.count() == 2


def linked(template: ZoneTemplate, make_zone: MakeZone, count: int) -> None:
    zones = [make_zone(name=f"z{number}.test.") for number in range(count)]
    TemplateLink.objects.bulk_create(TemplateLink(zone=zone, template=template, version=1, at=NOW) for zone in zones)


def test_the_zones_in_step_are_paged_by_name_in_as_many_queries_whatever_their_number(
    client: Client, template: ZoneTemplate, make_zone: MakeZone, alice: User, bob: User
) -> None:
    path = f"{LIST}{template.pk}/zones/"
    assert "No linked zones yet" in client.get(path).content.decode()
    counts = []
    for number in (1, 4):
        Zone.objects.all().delete()
        linked(template, make_zone, number)
        with CaptureQueriesContext(
            connection,
        ) as queries:
            page = client.get(path)
        counts.append(len(queries))
        assert page.content.decode().count("up to date") == number
    assert counts[0] == counts[1]
    edit_template.publish_version(template=template, content=Text("@ A {{ ip }}", (IP,)), seen=1, by=alice, now=NOW)
    rest = client.get(f"{path}?after=z1.test.", headers=HTMX).content.decode()
    assert "<html" not in rest
    assert rest.count("behind") == 2
    first = linked_page(template=template, user=bob, limit=3)
    assert ([row.name for row in first.rows], first.next_after) == (["z0.test.", "z1.test.", "z2.test."], "z2.test.")
    last = linked_page(template=template, user=bob, after=first.next_after, limit=3)
    assert ([row.name for row in last.rows], last.next_after) == (["z3.test."], "")
    Zone.objects.filter(name="z3.test.").update(deleted_at=NOW)
    assert client.get(path).content.decode().count("behind") == 3


def test_what_becomes_of_the_zones_is_said_before_it_is_deleted(
    client: Client, template: ZoneTemplate, make_zone: MakeZone
) -> None:
    linked(template, make_zone, 2)
    path = f"{LIST}{template.pk}/delete/"
    page = client.get(path).content.decode()
    assert "Existing records in zones aren’t changed." in page
    assert "2 zones will be unlinked" in page
    assert client.post(path)["Location"] == LIST
    assert not ZoneTemplate.objects.exists()
    assert Zone.objects.filter(deleted_at=None).count() == 2
