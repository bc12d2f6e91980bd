"""Pages of template runs: a dry run, its results, and the actual run. Tests `frame.run_display` too."""

from typing import Any
from uuid import uuid4

import pytest
from django.test import Client

from dnspanel.accounts.models import User
from dnspanel.api.v2.resources.template_runs import template_run_json
from dnspanel.transfer.zone_templates import edit_template, runs
from dnspanel.transfer.zone_templates.edit_template import Text
from dnspanel.zones.models import RunState, TemplateKind, TemplateLink, TemplateRun, Zone, ZoneTemplate
from replication.dns import rdtypes
from tests.dnspanel.taken_back import REASON, take_back
from tests.dnspanel.transfer.zone_templates.conftest import IP, MX, WEB, MakeTemplate
from tests.dnspanel.transfer.zone_templates.conftest import make_template as make_template
from tests.dnspanel.transfer.zone_templates.conftest import template as template
from tests.dnspanel.transfer.zone_templates.test_runs import carry_out, create, dry_run, stored
from tests.dnspanel.web.conftest import HTMX, Browser, MakeZone
from tests.people import NOW

pytestmark = pytest.mark.django_db(transaction=True)
SECOND = Text(f"{WEB}@ AAAA 2001:db8::1\n", (IP, MX))


@pytest.fixture
def client(browser: Browser, bob: User) -> Client:
    return browser(bob)


def send(client: Client, path: str, **data: Any) -> Any:
    return client.post(path, {"form_id": str(uuid4()), **data}, follow=True)


def of(template: ZoneTemplate) -> str:
    return f"/settings/templates/{template.pk}/runs/"


def worked(page: Any) -> TemplateRun:
    run = page.context["run"]
    assert isinstance(run, TemplateRun)
    while runs.work_on_run(run.pk):
        pass
    run.refresh_from_db()
    return run


def test_linked_zones_are_brought_to_the_next_version_after_a_dry_run(
    client: Client, template: ZoneTemplate, bob: User
) -> None:
    one, edited = create(template, bob, "v1.test.", "v2.test.")
    edit_template.publish_version(template=template, content=SECOND, seen=1, by=bob, now=NOW)
    TemplateLink.objects.filter(zone=edited).update(values={"ip": "192.0.2.77"})
    begun = send(client, of(template), scope="linked")
    assert "waiting for a worker" in begun.content.decode()
    dry = worked(begun)
    path = f"/settings/templates/runs/{dry.pk}/"
    page = client.get(path).content.decode()
    assert "1 to be changed" in page.replace("</span>", "").replace('<span class="strong">', "")
    assert "with manual edits" in page
    assert "A @" in page
    assert 'name="overwrite"' in page
    assert client.get(f"{path}?seen=done-2", headers=HTMX).status_code == 204
    assert "<html" not in client.get(path, headers=HTMX).content.decode()
    run = worked(send(client, f"{path}apply/", overwrite="yes"))
    assert (run.state, run.overwrite, run.counts) == (RunState.DONE, True, {"change": 2})
    assert stored(one, "v1.test.", rdtypes.AAAA) is not None
    page = client.get(f"/settings/templates/runs/{run.pk}/").content.decode()
    assert f'href="/publications/{run.last_sequence}/"' in page
    assert "applied" in client.get(of(template)).content.decode()


def test_zones_that_a_search_finds_get_it_with_the_values_of_the_form(
    client: Client, template: ZoneTemplate, make_zone: MakeZone
) -> None:
    make_zone(name="shop.test.")
    refused = send(client, of(template), scope="some", q="shop")
    assert refused.status_code == 422
    assert not TemplateRun.objects.exists()
    dry = worked(send(client, of(template), scope="some", q="shop", keep="on", **{"v-ip": "192.0.2.9", "v-mx": ""}))
    assert (dry.search, dry.values, dry.keep, dry.counts) == ("shop", {"ip": "192.0.2.9"}, True, {"change": 1})
    worked(send(client, f"/settings/templates/runs/{dry.pk}/apply/"))
    assert TemplateLink.objects.get().zone == Zone.objects.get()


def test_what_cannot_be_begun_is_said(client: Client, template: ZoneTemplate, make_template: MakeTemplate) -> None:
    run = TemplateRun.objects.get(pk=send(client, of(template), scope="linked").context["run"].pk)
    path = f"/settings/templates/runs/{run.pk}/"
    assert "Only a finished dry run" in send(client, f"{path}apply/").content.decode()
    assert "The form is invalid" in client.post(f"{path}apply/", follow=True).content.decode()
    assert "Run cancelled" in send(client, f"{path}cancel/").content.decode()
    assert "has already ended" in send(client, f"{path}cancel/").content.decode()
    snippet = make_template("@ TXT x", name="S", kind=TemplateKind.SNIPPET)
    assert "can’t be linked to zones" in client.get(of(snippet)).content.decode()
    assert send(client, of(snippet), scope="linked").status_code == 422
    for _ in range(3):
        send(client, of(template), scope="linked")
    assert send(client, of(template), scope="linked").status_code == 422


def test_somebody_elses_run_is_not_there(browser: Browser, client: Client, template: ZoneTemplate, alice: User) -> None:
    run = send(client, of(template), scope="linked").context["run"]
    assert browser(alice).get(f"/settings/templates/runs/{run.pk}/").status_code == 404


def test_a_run_whose_change_was_taken_back_says_so(client: Client, template: ZoneTemplate, bob: User) -> None:
    # Previously the page, API v2 and command-line client counted zones as changed that the canary had refused.
    create(template, bob, "v1.test.", "v2.test.")
    edit_template.publish_version(template=template, content=SECOND, seen=1, by=bob, now=NOW)
    run = carry_out(dry_run(template, bob), bob)
    path = f"/settings/templates/runs/{run.pk}/"
    assert "couldn’t serve" not in client.get(path).content.decode()
    take_back(run.last_sequence)
    page = " ".join(client.get(path).content.decode().split())
    assert "The nodes couldn’t serve <a" in page
    assert f"the change to 2 zones</a>, so the panel reverted it. {REASON}" in page
    assert template_run_json(run)["taken_back"] == [{"sequence": run.last_sequence, "reason": REASON, "zones": 2}]
