"""The list of imports, and an import's page with its content and actions in each state."""

from uuid import uuid4

import pytest
from pytest_django.fixtures import DjangoAssertNumQueries

from dnspanel.accounts.models import User
from dnspanel.transfer.imports import import_jobs, worker
from dnspanel.transfer.models import ImportJob, SourceKind, State
from dnspanel.zones.models import Zone
from tests.dnspanel.transfer.conftest import MakeImport, directories, import_all, make_import, work_through, zone_text
from tests.dnspanel.web.conftest import HTMX, Browser
from tests.people import NOW

__all__ = ["directories", "make_import"]

LIST = "/imports/"
WWW = "www 300 A 192.0.2.1"
BAD = "www 300 A 192.0.2.300"


def page_of(job: ImportJob) -> str:
    return f"{LIST}{job.pk}/"


@pytest.fixture
def job(make_import: MakeImport) -> ImportJob:
    """Return an import with two new zones and a faulty one, ready to be scanned."""
    texts = {f"{name}.test.zone": zone_text(f"{name}.test.", WWW) for name in ("a", "b")}
    return make_import({**texts, "bad.test.zone": zone_text("bad.test.", BAD)}, title="three zones")


def test_an_empty_list_offers_three_ways_and_samples(browser: Browser, bob: User) -> None:
    page = browser(bob).get(LIST).content.decode()
    assert "Import your zones" in page
    for way in ("files", "axfr", "powerdns-api"):
        assert f"/imports/new/{way}/" in page
    assert "samples/shop.test.zone" in page


def test_the_list_says_what_each_import_is_and_how_far(browser: Browser, bob: User, job: ImportJob) -> None:
    page = browser(bob).get(LIST).content.decode()
    assert "three zones" in page
    assert "scanning" in page
    assert 'data-live="1"' in page  # it updates while a job runs
    work_through(job)
    page = browser(bob).get(LIST).content.decode()
    assert "waiting for options" in page
    assert "1 failed" in page
    assert 'data-live="1"' not in page


def test_the_list_asks_as_often_for_many_as_for_one(
    browser: Browser, bob: User, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    client = browser(bob)
    for number in range(60):
        import_jobs.create_job(source=SourceKind.FILES, title=f"no {number}", author=bob, now=NOW)
    with django_assert_max_num_queries(10):
        page = client.get(LIST).content.decode()
    assert page.count("data-row") == 50
    assert "Show older" in page


def test_older_imports_come_as_rows_alone(browser: Browser, bob: User) -> None:
    for number in range(3):
        newest = import_jobs.create_job(source=SourceKind.FILES, title=f"no {number}", author=bob, now=NOW)
    rows = browser(bob).get(f"{LIST}?before={newest.pk}", headers={**HTMX, "HX-Target": "import-more"}).content.decode()
    assert rows.startswith("<tbody>")
    assert rows.count("data-row") == 2


def test_a_reader_is_told_who_may(browser: Browser, charlie: User, job: ImportJob) -> None:
    for address in (LIST, page_of(job)):
        response = browser(charlie).get(address)
        assert response.status_code == 403
        assert b"Permission denied" in response.content
    assert b"/imports/" not in browser(charlie).get("/zones/").content


def test_the_zone_list_leads_to_an_import(browser: Browser, bob: User) -> None:
    page = browser(bob).get("/zones/").content.decode()
    assert page.count('href="/imports/new/"') == 2  # in the header and in the empty list
    assert 'data-go="i"' in page


def test_a_working_import_shows_numbers_and_asks_again_only_for_news(
    browser: Browser, bob: User, job: ImportJob
) -> None:
    page = browser(bob).get(page_of(job)).content.decode()
    assert 'data-live="1"' in page
    assert "Pause" in page
    fragment = browser(bob).get(page_of(job), headers=HTMX)
    assert fragment.content.lstrip().startswith(b'<div class="stack" id="import"')
    seen = fragment.context["seen"]
    assert browser(bob).get(page_of(job), {"seen": seen}, headers=HTMX).status_code in {200, 204}
    work_through(job)
    done = browser(bob).get(page_of(job), {"seen": seen}, headers=HTMX)
    assert b"Scan results" in done.content
    assert browser(bob).get(page_of(job), {"seen": f"{job.state}-False"}, headers=HTMX).status_code == 204


def test_pause_resume_and_cancel(browser: Browser, bob: User, job: ImportJob) -> None:
    client = browser(bob)
    assert "will pause" in client.post(f"{page_of(job)}pause/", follow=True).content.decode()
    job.refresh_from_db()
    assert job.paused
    worker.work_on_import(job.pk)
    assert job.pieces.filter(state="scanned").count() == 0
    page = client.post(f"{page_of(job)}resume/", follow=True).content.decode()
    assert "Pause" in page
    client.post(f"{page_of(job)}cancel/")
    job.refresh_from_db()
    assert job.state == State.CANCELLED
    again = client.post(f"{page_of(job)}cancel/", follow=True).content.decode()
    assert "possible in the import’s current state" in again  # the second click has no effect


def test_an_unknown_act_is_no_page(browser: Browser, bob: User, job: ImportJob) -> None:
    assert browser(bob).post(f"{page_of(job)}explode/").status_code == 404


def test_what_stopped_an_import_is_said_with_a_way_on(browser: Browser, bob: User, job: ImportJob) -> None:
    ImportJob.objects.filter(pk=job.pk).update(paused=True, failure="The server does not answer.")
    page = browser(bob).get(page_of(job)).content.decode()
    assert "The server does not answer." in page
    assert "Retry import" in page


def test_an_import_can_be_forgotten_and_its_zones_stay(browser: Browser, bob: User, job: ImportJob) -> None:
    import_all(job)
    page = browser(bob).get(f"{page_of(job)}delete/").content.decode()
    assert "2 published zones stay" in page
    browser(bob).post(f"{page_of(job)}delete/", {"form_id": uuid4()})
    assert not ImportJob.objects.filter(pk=job.pk).exists()
    assert Zone.objects.filter(name="a.test.", deleted_at=None).exists()


def test_an_import_at_work_is_not_forgotten(browser: Browser, bob: User, job: ImportJob) -> None:
    page = browser(bob).post(f"{page_of(job)}delete/", follow=True).content.decode()
    assert "This import is running. Cancel it first" in page
    assert ImportJob.objects.filter(pk=job.pk).exists()
