"""A template used in a zone: a preview with differences, the draft of exactly that preview, and later updates.

Tests its variables' fields (`frame.variable_fields`) and new zones from a template (`zones.from_template`).
"""

from typing import Any

import pytest
from django.test import Client

from dnspanel.accounts.models import User
from dnspanel.transfer.zone_templates import edit_template
from dnspanel.transfer.zone_templates.edit_template import Text
from dnspanel.web.zone_templates.zone import Applying
from dnspanel.zones.drafts import draft
from dnspanel.zones.lists import rrset_pages
from dnspanel.zones.models import Operation, TemplateKind, TemplateLink, Zone, ZoneTemplate
from replication.dns import rdtypes
from tests.dnspanel.transfer.zone_templates.conftest import IP, MakeTemplate
from tests.dnspanel.transfer.zone_templates.conftest import make_template as make_template
from tests.dnspanel.transfer.zone_templates.conftest import template as template
from tests.dnspanel.web.conftest import HTMX, Browser, MakeZone
from tests.dnspanel.zones.conftest import ZONE, rr
from tests.people import NOW

TEMPLATES = f"/zones/{ZONE}/templates/"
VALUES = {"v-ip": "192.0.2.80", "v-mx": ""}


@pytest.fixture
def zone(make_zone: MakeZone) -> Zone:
    return make_zone("@ 300 MX 10 mail", "mail 300 A 192.0.2.9")


@pytest.fixture
def client(zone: Zone, browser: Browser, bob: User) -> Client:
    return browser(bob)


def applying_of(response: Any) -> Applying:
    applying = response.context["applying"]
    assert isinstance(applying, Applying)
    return applying


def ticks(response: Any) -> dict[str, bool]:
    return {each.value: each.is_ticked for each in applying_of(response).steps or ()}


def test_the_templates_of_a_zone_are_listed(client: Client, make_template: MakeTemplate, zone: Zone) -> None:
    assert "No templates yet" in client.get(TEMPLATES).content.decode()
    made, snippet = make_template(), make_template("@ TXT x", name="Mark", kind=TemplateKind.SNIPPET)
    page = client.get(TEMPLATES).content.decode()
    for each in (made, snippet):
        assert f'href="{TEMPLATES}{each.pk}/"' in page
    builders = client.get(f"/zones/{ZONE}/builders/").content.decode()
    assert f'href="{TEMPLATES}{snippet.pk}/"' in builders
    assert f'href="{TEMPLATES}{made.pk}/"' not in builders


def test_a_preview_changes_nothing_and_what_is_ticked_is_drafted(
    client: Client, template: ZoneTemplate, bob: User, zone: Zone
) -> None:
    path = f"{TEMPLATES}{template.pk}/"
    preview = client.post(path, VALUES)
    conflict = f"{rdtypes.MX} {ZONE}"
    assert ticks(preview) == {f"{rdtypes.A} {ZONE}": True, f"{rdtypes.CNAME} blog.{ZONE}": True, conflict: False}
    page = preview.content.decode()
    assert "1 RRset differs from the template" in page
    assert "but not from the template" in page
    assert not Operation.objects.exists()
    sent = {**VALUES, "seen": applying_of(preview).seen, "act": "add", "step": [f"{rdtypes.A} {ZONE}", conflict]}
    assert client.post(path, sent)["Location"] == f"/zones/{ZONE}?in=draft".replace(ZONE + "?", ZONE + "/?")
    assert {operation.type for operation in Operation.objects.all()} == {rdtypes.A, rdtypes.MX}
    assert not TemplateLink.objects.exists()
    row = rrset_pages.rrset_row(zone=zone, author=bob, name=ZONE, type=rdtypes.MX)
    assert row.change.after == rr("@ 300 MX 10 mx.example.net.")


def test_what_changed_since_the_preview_is_shown_again(
    client: Client, template: ZoneTemplate, alice: User, bob: User, zone: Zone
) -> None:
    path = f"{TEMPLATES}{template.pk}/"
    sent = {**VALUES, "seen": applying_of(client.post(path, VALUES)).seen, "act": "add"}
    draft.replace_rrset(author=bob, zone=zone, rrset=rr("@ 60 A 198.51.100.7"), now=NOW)
    again = client.post(path, sent)
    assert "changed in the meantime" in again.content.decode()
    assert Operation.objects.count() == 1
    sent["seen"] = applying_of(again).seen
    edit_template.publish_version(template=template, content=Text("@ A {{ ip }}", (IP,)), seen=1, by=alice, now=NOW)
    assert "changed in the meantime" in client.post(path, sent).content.decode()
    assert Operation.objects.count() == 1


def test_wrong_values_are_told_at_their_fields(client: Client, template: ZoneTemplate) -> None:
    path = f"{TEMPLATES}{template.pk}/"
    response = client.post(path, {"v-ip": "nonsense", "v-mx": "a..b"})
    assert response.status_code == 422
    assert set(applying_of(response).form.errors) == {"v-ip", "v-mx"}
    assert client.post(path, {"v-ip": ""}).status_code == 422
    live = client.post(f"{path}?act=typed", {"v-ip": "1"}, headers=HTMX)
    assert live.status_code == 200
    assert "<html" not in live.content.decode()


def test_a_zone_is_kept_in_step_as_chosen(client: Client, template: ZoneTemplate, zone: Zone) -> None:
    path = f"{TEMPLATES}{template.pk}/"
    fields = {**VALUES, "keep": "yes"}
    preview = client.post(path, fields)
    added = [value for value, ticked in ticks(preview).items() if ticked]
    sent = {**fields, "seen": applying_of(preview).seen, "act": "add", "step": added}
    assert client.post(path, sent).status_code == 302
    link = TemplateLink.objects.get()
    assert (link.zone, link.version, link.values) == (zone, 1, {"ip": "192.0.2.80"})
    assert "in draft" in client.get(TEMPLATES).content.decode()
    opened = applying_of(client.get(path))
    assert opened.keep
    assert opened.form.initial == {"v-ip": "192.0.2.80"}
    assert client.post(f"{path}unlink/")["Location"] == TEMPLATES
    assert not TemplateLink.objects.exists()


def test_a_zone_that_has_all_of_it_can_still_be_kept_in_step(
    browser: Browser, bob: User, make_template: MakeTemplate, make_zone: MakeZone
) -> None:
    make_zone("@ 3600 A 192.0.2.1")
    made = make_template("@ A 192.0.2.1")
    path, client = f"{TEMPLATES}{made.pk}/", browser(bob)
    assert "already contains these records" in client.post(path, {}).content.decode()
    assert not applying_of(client.post(path, {})).may_add
    preview = client.post(path, {"keep": "yes"})
    sent = {"keep": "yes", "act": "add", "seen": applying_of(preview).seen}
    assert client.post(path, sent)["Location"] == f"/zones/{ZONE}/"
    assert TemplateLink.objects.count() == 1


def test_a_snippet_goes_to_a_name(client: Client, make_template: MakeTemplate, zone: Zone, bob: User) -> None:
    snippet = make_template("@ MX 20 backup", name="Backup", kind=TemplateKind.SNIPPET)
    path = f"{TEMPLATES}{snippet.pk}/"
    assert applying_of(client.get(f"{path}?name=sub")).name == "sub"
    for name in ("a..b", "sub.example.test", "other.test."):
        assert applying_of(client.post(path, {"name": name})).name_fault
    preview = client.post(path, {"name": "@"})
    sent = {"name": "@", "act": "add", "seen": applying_of(preview).seen, "step": list(ticks(preview))}
    assert client.post(path, sent).status_code == 302
    after = rrset_pages.rrset_row(zone=zone, author=bob, name=ZONE, type=rdtypes.MX).change.after
    assert after == rr("@ 300 MX 10 mail | 20 backup")


def test_new_zones_begin_with_a_template(browser: Browser, bob: User, template: ZoneTemplate) -> None:
    client = browser(bob)
    opened = client.get(f"/zones/new/?template={template.pk}").content.decode()
    assert 'name="v-ip"' in opened
    fields = {
        "names": "one.test\ntwo.test", "nameservers": "ns1.example.net", "hostmaster": "h@example.net",
        "form_id": "0e6ee0b6-64a5-4e32-a3f4-0d1f1a1f5a11", "template": str(template.pk), "keep": "on",
    }  # fmt: skip
    chosen = client.post("/zones/new/", {**fields, "choose": "yes"})
    assert chosen.status_code == 200
    assert 'name="v-mx"' in chosen.content.decode()
    assert (
        'name="v-ip"'
        in client.get("/zones/new/", fields, headers={**HTMX, "HX-Target": "new-variables"}).content.decode()
    )
    assert "blog 300 CNAME one.test." in client.get("/zones/new/", {**fields, **VALUES}, headers=HTMX).content.decode()
    refused = client.post("/zones/new/", fields)
    assert refused.status_code == 422
    assert not Zone.objects.exists()
    assert client.post("/zones/new/", {**fields, **VALUES}).status_code == 302
    assert [link.zone.name for link in TemplateLink.objects.order_by("zone__name")] == ["one.test.", "two.test."]
    page = client.get("/zones/two.test./").content.decode()
    assert "192.0.2.80" in page


@pytest.mark.parametrize(
    "text", ["www CNAME @\nwww.x A {{ ip }}\n@ CNAME a", "@ DS 1 13 2 " + "00" * 32 + "\n@ A {{ ip }}"]
)
def test_a_template_that_no_zone_may_have_is_told_and_nothing_is_created(
    browser: Browser, bob: User, make_template: MakeTemplate, text: str
) -> None:
    made = make_template("@ A {{ ip }}", IP)
    made.versions.update(text=text)  # it was published under earlier rules
    fields = {
        "names": "one.test", "nameservers": "ns1.example.net", "hostmaster": "h@example.net",
        "form_id": "0e6ee0b6-64a5-4e32-a3f4-0d1f1a1f5a12", "template": str(made.pk), "v-ip": "192.0.2.1",
    }  # fmt: skip
    assert browser(bob).post("/zones/new/", fields).status_code == 422
    assert not Zone.objects.exists()


def test_a_reader_finds_no_door(browser: Browser, zone: Zone, charlie: User, template: ZoneTemplate) -> None:
    client = browser(charlie)
    for path in (TEMPLATES, f"{TEMPLATES}{template.pk}/"):
        assert client.get(path).status_code == 403
    assert client.get(f"/settings/templates/{template.pk}/").status_code == 200
