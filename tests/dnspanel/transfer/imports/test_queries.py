"""Queries of import pages."""

import csv
import io

import pytest

from dnspanel.accounts.models import User
from dnspanel.transfer.imports import import_jobs, queries
from dnspanel.transfer.models import Action, ImportJob, ImportZone
from dnspanel.zones.errors import Forbidden, Unknown
from tests.dnspanel.transfer.conftest import MakeImport, import_all, work_through, zone_text
from tests.people import NOW

pytestmark = pytest.mark.django_db

WWW = "www 300 A 192.0.2.1"


@pytest.fixture
def job(make_import: MakeImport) -> ImportJob:
    """Return a planned import of four zones: one exists, one is new, one is faulty, and one gets many changes."""
    import_all(
        make_import(
            {
                "old": zone_text("old.test.", WWW),
                "big": zone_text("big.test.", *(f"h{number} A 192.0.2.1" for number in range(120))),
            }
        )
    )
    job = make_import(
        {
            "new": zone_text("new.test.", WWW),
            "old": zone_text("old.test.", "www 300 A 192.0.2.2"),
            "big": zone_text("big.test."),
            "=bad": zone_text("bad.test.", "www 300 A 192.0.2.300"),
        }
    )
    work_through(job)
    big = ImportZone.objects.get(job=job, name="big.test.")
    import_jobs.choose(job=job, choice="replace", ids=[big.pk], now=NOW)
    import_jobs.start_plan(job=job, now=NOW)
    return work_through(job)


def test_imports_are_visible_to_those_who_may_edit(job: ImportJob, bob: User, charlie: User) -> None:
    assert queries.job_for(bob, job.pk) == job
    with pytest.raises(Forbidden):
        queries.job_for(charlie, job.pk)
    with pytest.raises(Forbidden):
        queries.jobs_page(charlie)
    with pytest.raises(Unknown):
        queries.job_for(bob, 10**9)


def test_the_list_of_imports_has_their_totals(job: ImportJob, bob: User) -> None:
    newest, first = queries.jobs_page(bob)
    assert (newest.job, newest.zones, newest.errors, newest.published) == (job, 4, 1, 0)
    assert (first.zones, first.published) == (2, 2)
    assert queries.jobs_page(bob, before=job.pk)[0].job == first.job


def test_the_scan_is_summed_up(job: ImportJob) -> None:
    found = queries.scan_summary(job)
    assert (found.documents, found.new, found.existing, found.failed, found.duplicates) == (4, 1, 2, 1, 0)
    assert [(kind.severity, kind.count) for kind in found.faults if kind.severity == "error"] == [("error", 1)]
    assert "192.0.2.300" in found.faults[0].sample


def test_the_dry_run_is_summed_up_and_mass_removal_stands_out(job: ImportJob) -> None:
    plan = queries.plan_summary(job)
    assert (plan.creates, plan.unions, plan.replaces, plan.failed, plan.to_publish) == (1, 1, 1, 1, 3)
    assert (plan.added, plan.changed, plan.removed) == (3, 1, 120)
    assert plan.values_removed == 120
    assert plan.guarded == 1


def test_zones_page_by_name_and_by_filter(job: ImportJob) -> None:
    def names(**filters: object) -> list[str]:
        return [zone.name for zone in queries.zones_page(job, **filters).zones]  # type: ignore[arg-type]

    assert names() == ["bad.test.", "big.test.", "new.test.", "old.test."]
    assert names(action=Action.CREATE) == ["new.test."]
    assert names(search="o") == ["old.test."]
    assert names(faulty=True) == ["bad.test."]
    assert names(existing=True) == ["big.test.", "old.test."]
    assert names(existing=False) == ["new.test."]
    first = queries.zones_page(job, limit=3)
    rest = queries.zones_page(job, limit=3, after=first.after)
    assert [zone.name for zone in (*first.zones, *rest.zones)] == names()
    assert rest.after == ""


def test_the_diff_of_a_zone_is_that_of_the_review(job: ImportJob) -> None:
    def diff(name: str) -> queries.ZoneDiff:
        return queries.zone_diff(job, ImportZone.objects.get(job=job, name=name))

    assert {one.mark for one in diff("new.test.").diffs} == {"added"}
    (changed,) = diff("old.test.").diffs
    assert [(record.sign, record.rdata) for record in changed.records] == [(" ", "192.0.2.1"), ("+", "192.0.2.2")]
    assert len(diff("big.test.").diffs) == 120
    assert diff("bad.test.").diffs == ()


def test_a_diff_shows_the_first_rrsets_and_counts_the_rest(job: ImportJob, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(queries, "MOST_DIFFS", 50)
    found = queries.zone_diff(job, ImportZone.objects.get(job=job, name="big.test."))
    assert (len(found.diffs), found.more) == (50, 70)


def test_faults_come_as_csv_that_no_spreadsheet_runs(job: ImportJob) -> None:
    header, *rows = csv.reader(io.StringIO("".join(queries.faults_csv(job, severity="error"))))
    assert tuple(header) == queries.CSV_HEADER
    (row,) = rows
    fault = dict(zip(header, row, strict=True))
    assert (fault["zone"], fault["line"], fault["file"]) == ("bad.test.", "6", "'=bad")
    assert "192.0.2.300" in fault["source"]


def test_faults_page_by_id(job: ImportJob) -> None:
    first = queries.faults_page(job, limit=1)
    assert queries.faults_page(job, after=first[-1].pk, limit=1) != first


def test_the_text_of_a_zone_is_given_unless_it_is_large(job: ImportJob, monkeypatch: pytest.MonkeyPatch) -> None:
    zone = ImportZone.objects.get(job=job, name="old.test.")
    assert queries.zone_text(job, zone) == zone_text("old.test.", "www 300 A 192.0.2.2")
    monkeypatch.setattr(queries, "MOST_TEXT_BYTES", 10)
    assert queries.zone_text(job, zone) is None


def test_the_report_says_how_many_nodes_have_it_all(job: ImportJob) -> None:
    import_jobs.start_apply(job=job, author=job.author, now=NOW)
    work_through(job)
    report = queries.report(job, now=NOW)
    assert (report.published, report.created, report.altered, report.plan.failed) == (3, 1, 2, 1)
    assert (report.nodes.total, report.nodes.in_sync) == (0, 0)


def test_a_cancelled_import_reports_no_zone_of_its_plan(job: ImportJob) -> None:
    """Previously the report of an import that was cancelled before "Apply" said "Created 1"."""
    import_jobs.cancel(job=job, now=NOW)
    report = queries.report(job, now=NOW)
    assert (report.plan.creates, report.created, report.altered, report.published) == (1, 0, 0, 0)
