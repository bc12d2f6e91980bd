"""The result of a scan, and the choice of actions for one zone, ticked zones or all matching zones."""

from typing import Any

import pytest
from pytest_django.fixtures import DjangoAssertNumQueries

from dnspanel.accounts.models import User
from dnspanel.transfer.models import ImportJob, ImportZone, State
from tests.dnspanel.transfer.conftest import MakeImport, directories, make_import, work_through, zone_text
from tests.dnspanel.web.conftest import HTMX, Browser, MakeZone

__all__ = ["directories", "make_import"]

WWW = "www 300 A 192.0.2.1"
OPTIONS = {"new": "create", "existing": "union", "nameservers": "keep", "soa": "keep", "comments": "on"}


@pytest.fixture
def job(make_import: MakeImport, make_zone: MakeZone) -> ImportJob:
    """Return a scanned import with two new zones, one existing zone and an unreadable one."""
    make_zone("www 300 A 192.0.2.9", name="here.test.")
    texts = {f"{name}.test.zone": zone_text(f"{name}.test.", WWW) for name in ("a", "b", "here")}
    return work_through(make_import({**texts, "bad.test.zone": zone_text("bad.test.", "www 300 A 192.0.2.300")}))


def at(job: ImportJob, path: str = "") -> str:
    return f"/imports/{job.pk}/{path}"


def choices(job: ImportJob) -> dict[str, str]:
    return dict(ImportZone.objects.filter(job=job).exclude(choice="").values_list("name", "choice"))


def row(job: ImportJob, name: str) -> int:
    return ImportZone.objects.get(job=job, name=name).pk


def test_the_page_says_what_was_found(browser: Browser, bob: User, job: ImportJob) -> None:
    response = browser(bob).get(at(job))
    scan = response.context["scan"]
    assert (scan.zones, scan.new, scan.existing, scan.failed) == (4, 2, 1, 1)
    page = response.content.decode()
    assert "192.0.2.300 isn’t a valid IPv4 address" in page
    assert "existing zone" in page
    assert "cannot be imported" in page


def test_options_that_do_not_change_what_is_read_keep_the_scan(browser: Browser, bob: User, job: ImportJob) -> None:
    browser(bob).post(at(job, "options/"), {**OPTIONS, "existing": "replace"})
    job.refresh_from_db()
    assert (job.state, job.options["existing"]) == (State.CHOOSING, "replace")


def test_options_that_change_what_is_read_scan_anew(browser: Browser, bob: User, job: ImportJob) -> None:
    page = browser(bob).post(at(job, "options/"), {**OPTIONS, "ttl": "60", "then": "plan"}, follow=True)
    job.refresh_from_db()
    assert job.state == State.SCANNING
    assert "Scanning the source again" in page.content.decode()
    assert work_through(job).state == State.CHOOSING


def test_the_dry_run_begins_with_the_options_as_typed(browser: Browser, bob: User, job: ImportJob) -> None:
    browser(bob).post(at(job, "options/"), {**OPTIONS, "new": "skip", "then": "plan"})
    job.refresh_from_db()
    assert (job.state, job.options["new"]) == (State.PLANNING, "skip")
    work_through(job)
    assert ImportZone.objects.get(job=job, name="a.test.").action == "skip"


def test_a_wrong_option_is_said_at_its_field_and_changes_nothing(browser: Browser, bob: User, job: ImportJob) -> None:
    response = browser(bob).post(at(job, "options/"), {**OPTIONS, "ttl_least": "600", "ttl_most": "60"})
    assert response.status_code == 422
    assert "id_ttl_most_error" in response.content.decode()
    assert '<details class="more-options" open>' in response.content.decode()


def test_one_zone_gets_a_choice_and_its_row_comes_back(browser: Browser, bob: User, job: ImportJob) -> None:
    pk = row(job, "here.test.")
    sent = {"row": pk, f"choice-{pk}": "replace"}
    answer = browser(bob).post(at(job, "choices/"), sent, headers=HTMX)
    assert answer.content.decode().startswith(f'<tr id="import-zone-{sent["row"]}"')
    assert "replace" in answer.content.decode()
    assert choices(job) == {"here.test.": "replace"}


def test_ticked_zones_get_a_choice(browser: Browser, bob: User, job: ImportJob) -> None:
    sent = {"zone": [row(job, "a.test."), row(job, "here.test.")], "choice": "skip", "scope": "ticked"}
    browser(bob).post(at(job, "choices/"), sent)
    assert choices(job) == {"a.test.": "skip", "here.test.": "skip"}


@pytest.mark.parametrize(
    ("narrowed", "names"),
    [
        ({}, {"a.test.", "b.test.", "here.test."}),
        ({"q": "her"}, {"here.test."}),
        ({"show": "new"}, {"a.test.", "b.test."}),
        ({"show": "existing"}, {"here.test."}),
    ],
)
def test_all_that_match_are_those_that_the_page_shows(
    browser: Browser, bob: User, job: ImportJob, narrowed: dict[str, Any], names: set[str]
) -> None:
    browser(bob).post(at(job, "choices/"), {"choice": "skip", "scope": "all", **narrowed})
    assert set(choices(job)) == names


def test_nothing_ticked_changes_nothing(browser: Browser, bob: User, job: ImportJob) -> None:
    page = browser(bob).post(at(job, "choices/"), {"choice": "skip", "scope": "ticked"}, follow=True)
    assert "Select at least one zone" in page.content.decode()
    assert choices(job) == {}


def test_a_choice_that_does_not_exist_is_refused(browser: Browser, bob: User, job: ImportJob) -> None:
    browser(bob).post(at(job, "choices/"), {"choice": "explode", "scope": "all"})
    assert choices(job) == {}


def test_a_choice_comes_too_late_while_the_job_works(browser: Browser, bob: User, job: ImportJob) -> None:
    ImportJob.objects.filter(pk=job.pk).update(state=State.APPLYING)
    page = browser(bob).post(at(job, "choices/"), {"choice": "skip", "scope": "all"}, follow=True)
    assert "possible in the import’s current state" in page.content.decode()


@pytest.mark.parametrize(("show", "count"), [("", 4), ("new", 2), ("existing", 1), ("faulty", 1), ("nonsense", 4)])
def test_the_table_can_be_narrowed(browser: Browser, bob: User, job: ImportJob, show: str, count: int) -> None:
    page = browser(bob).get(at(job, "zones/"), {"show": show}, headers={**HTMX, "HX-Target": "import-zones"})
    assert page.content.decode().count("data-row") == count


def test_a_search_without_a_hit_shows_a_way_out(browser: Browser, bob: User, job: ImportJob) -> None:
    page = browser(bob).get(at(job, "zones/"), {"q": "<nowhere>"}).content.decode()
    assert "No zones match" in page
    assert "&lt;nowhere&gt;" in page


def test_a_long_list_pages_with_a_fixed_number_of_queries(
    browser: Browser, bob: User, make_import: MakeImport, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    names = [f"zone-{number:03}.test." for number in range(130)]
    job = work_through(make_import({f"{name}zone": zone_text(name, WWW) for name in names}))
    client = browser(bob)
    with django_assert_max_num_queries(20):
        page = client.get(at(job)).content.decode()
    assert page.count('id="import-zone-') == 100
    after = page.partition("after=")[2].partition('"')[0].partition("&")[0]
    rows = client.get(f"{at(job, 'zones/')}?after={after}", headers={**HTMX, "HX-Target": "zone-more"})
    assert rows.content.decode().count('id="import-zone-') == 30
