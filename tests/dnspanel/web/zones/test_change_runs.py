"""Pages of runs that change many zones: start from the list, dry run, actual run and undo."""

from typing import Any
from uuid import uuid4

import pytest
from django.test import Client

from dnspanel.accounts.models import User
from dnspanel.transfer.models import ExportJob
from dnspanel.web.zones import change_runs as pages
from dnspanel.web.zones import selected_zones
from dnspanel.zones.dnssec.policy import Terms
from dnspanel.zones.dnssec.policy_queries import own_policy_of
from dnspanel.zones.models import ChangeRun, RunState, TemplateRun, Zone
from dnspanel.zones.runs import change_runs
from dnspanel.zones.signing.policies import create_policy
from tests.dnspanel.transfer.zone_templates.conftest import MakeTemplate
from tests.dnspanel.transfer.zone_templates.conftest import make_template as make_template
from tests.dnspanel.web.conftest import HTMX, Browser, MakeZone
from tests.people import NOW

pytestmark = pytest.mark.django_db(transaction=True)
MANY = "/zones/many/"
SHOPS = {"all": "1", "q": "shop"}


@pytest.fixture
def client(browser: Browser, alice: User) -> Client:
    return browser(alice)


@pytest.fixture(autouse=True)
def zones(make_zone: MakeZone, monkeypatch: pytest.MonkeyPatch) -> list[Zone]:
    monkeypatch.setattr(selected_zones, "MOST_AT_ONCE", 2)
    return [make_zone("www 300 A 192.0.2.1", name=f"{name}.test.") for name in ("shop1", "shop2", "shop3", "other")]


def send(client: Client, path: str, **fields: Any) -> Any:
    return client.post(path, {"form_id": str(uuid4()), **fields}, follow=True)


def worked(page: Any) -> ChangeRun:
    run = page.context["run"]
    assert isinstance(run, ChangeRun)
    while change_runs.work_on_run(run.pk):
        pass
    run.refresh_from_db()
    return run


def text_of(page: str) -> str:
    return " ".join(page.replace("</span>", "").replace('<span class="strong">', "").split())


def test_more_zones_than_are_changed_at_once_get_their_tags_by_a_run(client: Client) -> None:
    begun = send(client, MANY, **SHOPS, act="add", tags="eu")
    assert "waiting for a worker" in begun.content.decode()
    assert begun.redirect_chain[0][1] == 302
    dry = worked(begun)
    path = f"/zones/many/runs/{dry.pk}/"
    page = client.get(path).content.decode()
    assert "Dry run: add tags eu, zones with “shop”" in page
    assert "3 to be changed" in text_of(page)
    assert "shop2.test." in page
    assert client.get(f"{path}?seen=done-3", headers=HTMX).status_code == 204
    assert "<html" not in client.get(path, headers=HTMX).content.decode()
    assert not Zone.objects.exclude(tags=[]).exists()
    run = worked(send(client, f"{path}apply/"))
    assert Zone.objects.filter(tags=["eu"]).count() == 3
    page = client.get(f"/zones/many/runs/{run.pk}/").content.decode()
    assert "Undo" in page
    back = worked(send(client, f"/zones/many/runs/{run.pk}/undo/"))
    assert not Zone.objects.exclude(tags=[]).exists()
    page = client.get(f"/zones/many/runs/{back.pk}/").content.decode()
    assert "undo: add tags eu" in page
    assert "3 reverted" in text_of(page)
    listed = client.get("/zones/many/runs/").content.decode()
    assert [listed.count(word) for word in ("dry run", "applied")] == [2, 2]  # also in the sentence at the top


def test_zones_are_deleted_once_their_number_is_typed(client: Client) -> None:
    dry = worked(send(client, MANY, **SHOPS, act="delete"))
    path = f"/zones/many/runs/{dry.pk}/"
    assert "Enter 3 to delete this number of zones" in client.get(path).content.decode()
    assert "Enter 3 to confirm" in send(client, f"{path}apply/", typed_count="2").content.decode()
    run = worked(send(client, f"{path}apply/", typed_count="3"))
    assert list(Zone.objects.filter(deleted_at=None).values_list("name", flat=True)) == ["other.test."]
    assert "moved to the trash" in client.get(f"/zones/many/runs/{run.pk}/").content.decode()
    worked(send(client, f"/zones/many/runs/{run.pk}/undo/"))
    assert Zone.objects.filter(deleted_at=None).count() == 4


def test_a_policy_is_given_to_what_is_ticked_and_leads_to_the_run_that_signs(
    client: Client, alice: User, zones: list[Zone]
) -> None:
    policy = create_policy(name="Standard", terms=Terms(), is_default=False, by=alice, now=NOW)
    ticked = {"zone": ["shop1.test."], "act": "policy"}
    assert "Choose a policy." in client.post(MANY, ticked).content.decode()
    dry = worked(send(client, MANY, **ticked, policy=str(policy.pk)))
    run = worked(send(client, f"/zones/many/runs/{dry.pk}/apply/"))
    assert own_policy_of(zones[0]) == policy
    page = client.get(f"/zones/many/runs/{run.pk}/").content.decode()
    assert "DNSSEC policy Standard, shop1.test." in page
    assert "Apply DNSSEC policy" in page


def test_a_template_and_an_export_take_what_is_ticked(
    client: Client, make_template: MakeTemplate, zones: list[Zone]
) -> None:
    template = make_template()
    ticked = {"zone": ["shop1.test.", "other.test."]}
    refused = client.post(MANY, {**ticked, "act": "template", "template": str(template.pk)})
    assert refused.status_code == 422
    assert "where you can enter the variables" in refused.content.decode()
    plain = make_template("@ 300 TXT hello\n", name="plain")
    page = send(client, MANY, **ticked, act="template", template=str(plain.pk)).content.decode()
    assert "for 2 zones" in page
    assert TemplateRun.objects.get().names == ["shop1.test.", "other.test."]
    send(client, MANY, **ticked, act="export", format="bind")
    assert ExportJob.objects.get().selection == {"names": ["shop1.test.", "other.test."], "search": ""}


def test_what_cannot_be_done_with_a_run_is_said(client: Client) -> None:
    run = send(client, MANY, **SHOPS, act="add", tags="eu").context["run"]
    path = f"/zones/many/runs/{run.pk}/"
    assert "Only a finished dry run" in send(client, f"{path}apply/").content.decode()
    assert "Only a finished run" in send(client, f"{path}undo/").content.decode()
    for act in ("apply", "undo"):
        assert "The form is invalid" in client.post(f"{path}{act}/", follow=True).content.decode()
    assert "Run cancelled" in send(client, f"{path}cancel/").content.decode()
    assert "has already ended" in send(client, f"{path}cancel/").content.decode()
    assert ChangeRun.objects.get().state == RunState.CANCELLED
    for _ in range(3):
        send(client, MANY, **SHOPS, act="add", tags="eu")
    assert "unfinished runs" in send(client, MANY, **SHOPS, act="add", tags="eu").content.decode()


def test_only_some_zones_of_a_run_are_listed(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pages, "LISTED_ZONES", 2)
    dry = worked(send(client, MANY, **SHOPS, act="add", tags="eu"))
    assert "Showing the first 2 of 3." in client.get(f"/zones/many/runs/{dry.pk}/").content.decode()


def test_nobody_sees_the_run_of_another(client: Client, browser: Browser, bob: User) -> None:
    run = send(client, MANY, **SHOPS, act="add", tags="eu").context["run"]
    assert browser(bob).get(f"/zones/many/runs/{run.pk}/").status_code == 404
    assert "None yet" in browser(bob).get("/zones/many/runs/").content.decode()
