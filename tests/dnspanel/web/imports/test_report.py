"""The report of an import: results, all faults with their lines, and the undo."""

import csv

import pytest
from pytest_django.fixtures import DjangoAssertNumQueries

from dnspanel.accounts.models import User
from dnspanel.transfer.models import ImportFault, ImportJob, State
from dnspanel.zones.models import Channel, Zone
from tests.dnspanel.transfer.conftest import MakeImport, directories, import_all, make_import, work_through, zone_text
from tests.dnspanel.web.conftest import HTMX, Browser
from tests.dnspanel.zones.conftest import rr
from tests.people import NOW
from tests.publishing import change_rrsets

__all__ = ["directories", "make_import"]

WWW = "www 300 A 192.0.2.1"


@pytest.fixture
def job(make_import: MakeImport) -> ImportJob:
    """Return a finished import with two created zones, and one that failed with two faults."""
    texts = {f"{name}.test.zone": zone_text(f"{name}.test.", WWW) for name in ("a", "b")}
    bad = zone_text("bad.test.", "www 300 A 192.0.2.300", "@ MX mail.bad.test.")
    return import_all(make_import({**texts, "bad.test.zone": bad}))


def at(job: ImportJob, path: str = "") -> str:
    return f"/imports/{job.pk}/{path}"


def test_the_report_counts_and_offers_what_comes_next(browser: Browser, bob: User, job: ImportJob) -> None:
    page = browser(bob).get(at(job)).content.decode()
    assert "Fix and retry (1)" in page
    assert "Undo import…" in page
    assert "created" in page
    assert f"/publications/{job.last_sequence}/" in page


def test_each_fault_says_file_line_and_column_what_and_how_to_fix_it(
    browser: Browser, bob: User, job: ImportJob
) -> None:
    page = browser(bob).get(at(job, "faults/")).content.decode()
    assert "bad.test.zone:6:11" in page
    assert "192.0.2.300 isn’t a valid IPv4 address" in page
    assert "@ MX 10 mail.bad.test." in page  # the fix


@pytest.mark.parametrize(
    ("query", "count"),
    [
        ({"severity": "error"}, 2),
        ({"severity": "warning"}, 0),
        ({"zone": "bad.test."}, 2),
        ({"zone": "a.test."}, 0),
        ({"code": "rdata"}, 2),
    ],
)
def test_faults_can_be_narrowed(browser: Browser, bob: User, job: ImportJob, query: dict[str, str], count: int) -> None:
    page = browser(bob).get(at(job, "faults/"), query).content.decode()
    assert page.count("data-row") == count
    assert ("No issues match" in page) is (count == 0)


def test_many_faults_page_by_a_fixed_number_of_queries(
    browser: Browser, bob: User, job: ImportJob, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    ImportFault.objects.bulk_create(
        ImportFault(job=job, piece=1, path="x", line=n, column=1, reason="wrong", severity="error", code="x")
        for n in range(150)
    )
    client = browser(bob)
    with django_assert_max_num_queries(12):
        page = client.get(at(job, "faults/"))
    assert page.content.decode().count("data-row") == 100
    after = page.context["next_after"]
    rows = client.get(at(job, "faults/"), {"after": after}, headers={**HTMX, "HX-Target": "fault-more"})
    assert rows.content.decode().count("data-row") == 52


def test_faults_come_as_a_table_too(browser: Browser, bob: User, job: ImportJob) -> None:
    response = browser(bob).get(at(job, "faults.csv"))
    assert response["Content-Type"].startswith("text/csv")
    assert f'filename="import-{job.pk}-faults.csv"' in response["Content-Disposition"]
    lines = list(csv.DictReader(response.getvalue().decode().splitlines()))
    assert [line["line"] for line in lines] == ["6", "7"]


def test_undo_asks_for_the_number_and_takes_everything_back(browser: Browser, bob: User, job: ImportJob) -> None:
    page = browser(bob).get(at(job, "undo/")).content.decode()
    assert "Type “undo 2” to confirm" in page
    assert browser(bob).post(at(job, "undo/"), {"typed": "undo 20"}).status_code == 422
    assert browser(bob).post(at(job, "undo/"), {"typed": "undo 2"})["Location"] == at(job)
    job.refresh_from_db()
    assert job.state == State.UNDOING
    work_through(job)
    assert not Zone.objects.filter(name="a.test.", deleted_at=None).exists()
    page = browser(bob).get(at(job)).content.decode()
    assert "of 2 zones undone" in page
    assert "Created" not in page  # nothing of it remains
    assert "Undo import" not in page


def test_an_undo_keeps_what_others_changed_since_and_says_so(browser: Browser, bob: User, job: ImportJob) -> None:
    rrset = rr("new 300 A 192.0.2.7", origin="a.test.")
    change_rrsets(
        zone=Zone.objects.get(name="a.test."),
        changes={(rrset.name, rrset.type): rrset},
        author=bob,
        channel=Channel.WEB,
        now=NOW,
    )
    browser(bob).post(at(job, "undo/"), {"typed": "undo 2"})
    work_through(ImportJob.objects.get(pk=job.pk))
    page = browser(bob).get(at(job)).content.decode()
    assert "1 zone not fully undone" in page
    assert Zone.objects.filter(name="a.test.", deleted_at=None).exists()


def test_there_is_no_undo_of_an_import_that_published_nothing(
    browser: Browser, bob: User, make_import: MakeImport
) -> None:
    job = work_through(make_import({"a.test.zone": zone_text("a.test.", WWW)}))
    page = browser(bob).get(at(job, "undo/"), follow=True).content.decode()
    assert "no changes to undo" in page
