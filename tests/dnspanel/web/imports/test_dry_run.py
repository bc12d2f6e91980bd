"""The dry run of an import: it is mandatory, and the import applies exactly its result."""

import pytest

from dnspanel.accounts.models import User
from dnspanel.transfer.documents import Options
from dnspanel.transfer.imports import import_jobs
from dnspanel.transfer.models import Action, ImportJob, ImportZone, State
from dnspanel.web.imports.dry_run import fingerprint
from dnspanel.zones.models import Channel, Zone
from tests.dnspanel.transfer.conftest import MakeImport, directories, make_import, work_through, zone_text
from tests.dnspanel.web.conftest import Browser, MakeZone
from tests.dnspanel.zones.conftest import rr
from tests.people import NOW
from tests.publishing import change_rrsets

__all__ = ["directories", "make_import"]

WWW = "www 300 A 192.0.2.1"


def planned(job: ImportJob) -> ImportJob:
    work_through(job)
    import_jobs.start_plan(job=job, now=NOW)
    return work_through(job)


@pytest.fixture
def job(make_import: MakeImport, make_zone: MakeZone) -> ImportJob:
    """Return a scanned import with a new zone, and an existing one with another address."""
    make_zone("www 300 A 192.0.2.9", name="here.test.")
    texts = {f"{name}.test.zone": zone_text(f"{name}.test.", WWW) for name in ("a", "here")}
    return work_through(make_import(texts))


def at(job: ImportJob, path: str = "") -> str:
    return f"/imports/{job.pk}/{path}"


def seen(browser: Browser, person: User, job: ImportJob) -> str:
    return str(browser(person).get(at(job)).context["fingerprint"])


def test_nothing_is_applied_without_a_dry_run(browser: Browser, bob: User, job: ImportJob) -> None:
    page = browser(bob).post(at(job, "apply/"), {"seen": ""}, follow=True)
    assert "possible in the import’s current state" in page.content.decode()
    job.refresh_from_db()
    assert job.state == State.CHOOSING
    assert not Zone.objects.filter(name="a.test.").exists()


def test_the_dry_run_says_what_would_happen_and_then_it_does(browser: Browser, bob: User, job: ImportJob) -> None:
    client = browser(bob)
    client.post(at(job, "dry-run/"))
    job.refresh_from_db()
    assert job.state == State.PLANNING
    work_through(job)
    response = client.get(at(job))
    page = response.content.decode()
    assert (response.context["plan"].creates, response.context["changes"]) == (1, 1)
    assert "Apply to 2 zones" in page
    client.post(at(job, "apply/"), {"seen": response.context["fingerprint"]})
    assert work_through(ImportJob.objects.get(pk=job.pk)).state == State.DONE
    assert Zone.objects.filter(name="a.test.", deleted_at=None).exists()


def test_the_result_and_the_first_errors_come_before_the_zones(
    browser: Browser, bob: User, make_import: MakeImport
) -> None:
    texts = {"a.test.zone": zone_text("a.test.", WWW), "bad.test.zone": zone_text("bad.test.", "www 300 A 192.0.2.300")}
    job = planned(work_through(make_import(texts)))
    client = browser(bob)
    page = client.get(at(job)).content.decode()
    head = page[: page.index('id="import-zones"')]
    for text in ("The import will publish 1 zone. 1 zone can’t be imported.", "bad.test.zone:6:11", "192.0.2.300"):
        assert text in head
    client.post(at(job, "apply/"), {"seen": seen(browser, bob, job)})
    work_through(ImportJob.objects.get(pk=job.pk))
    report = client.get(at(job)).content.decode()
    assert "bad.test.zone:6:11" in report[: report.index("Details</summary>")]


def test_another_dry_run_than_the_one_seen_is_not_applied(browser: Browser, bob: User, job: ImportJob) -> None:
    planned(job)
    page = browser(bob).post(at(job, "apply/"), {"seen": "0-0"}, follow=True).content.decode()
    assert "The dry run has changed." in page
    job.refresh_from_db()
    assert job.state == State.PLANNED


def test_a_second_click_on_apply_does_no_harm(browser: Browser, bob: User, job: ImportJob) -> None:
    sent = {"seen": seen(browser, bob, planned(job))}
    assert browser(bob).post(at(job, "apply/"), sent)["Location"] == at(job)
    page = browser(bob).post(at(job, "apply/"), sent, follow=True).content.decode()
    assert "possible in the import’s current state" in page


def test_the_choices_can_be_changed_after_the_dry_run(browser: Browser, bob: User, job: ImportJob) -> None:
    planned(job)
    page = browser(bob).get(at(job), {"step": "choose"}).content.decode()
    assert "Import options" in page
    browser(bob).post(at(job, "choices/"), {"choice": "skip", "scope": "all", "q": "here"})
    job.refresh_from_db()
    assert job.state == State.CHOOSING


def test_a_zone_shows_the_same_diff_as_a_review(browser: Browser, bob: User, job: ImportJob) -> None:
    planned(job)
    zone = ImportZone.objects.get(job=job, name="here.test.")
    page = browser(bob).get(at(job, f"zones/{zone.pk}/")).content.decode()
    assert 'class="rr-change is-changed"' in page
    assert "192.0.2.9" in page
    assert "192.0.2.1" in page
    text = browser(bob).get(at(job, f"zones/{zone.pk}/"), {"as": "text"}).content.decode()
    assert "www.here.test. 300 IN A 192.0.2.1" in text


def test_a_zone_of_another_import_is_not_found(browser: Browser, bob: User, job: ImportJob) -> None:
    assert browser(bob).get(at(job, "zones/0/")).status_code == 404


def test_who_would_remove_much_types_how_much(
    browser: Browser, bob: User, make_import: MakeImport, make_zone: MakeZone
) -> None:
    make_zone(*(f"host{number} 300 A 192.0.2.1" for number in range(40)), name="here.test.")
    texts = {"here.test.zone": zone_text("here.test.", "host1 300 A 192.0.2.1")}
    job = planned(make_import(texts, options=Options(existing="replace")))
    response = browser(bob).get(at(job))
    removed = response.context["plan"].removed
    assert removed == 39
    assert "1 zone would lose many values" in response.content.decode()
    sent = {"seen": response.context["fingerprint"]}
    refused = browser(bob).post(at(job, "apply/"), {**sent, "typed": "yes"})
    assert refused.status_code == 422
    assert "id_typed_error" in refused.content.decode()
    job.refresh_from_db()
    assert job.state == State.PLANNED
    browser(bob).post(at(job, "apply/"), {**sent, "typed": f"remove {removed}"})
    job.refresh_from_db()
    assert job.state == State.APPLYING


def test_a_zone_that_changed_since_waits_for_another_dry_run(browser: Browser, bob: User, job: ImportJob) -> None:
    planned(job)
    rrset = rr("new 300 A 192.0.2.7", origin="here.test.")
    change_rrsets(
        zone=Zone.objects.get(name="here.test."),
        changes={(rrset.name, rrset.type): rrset},
        author=bob,
        channel=Channel.WEB,
        now=NOW,
    )
    browser(bob).post(at(job, "apply/"), {"seen": seen(browser, bob, job)})
    work_through(ImportJob.objects.get(pk=job.pk))
    page = browser(bob).get(at(job)).content.decode()
    assert "Start new dry run (1)" in page
    browser(bob).post(at(job, "dry-run-again/"))
    work_through(ImportJob.objects.get(pk=job.pk))
    job.refresh_from_db()
    assert job.state == State.PLANNED
    assert ImportZone.objects.get(job=job, name="here.test.").action == Action.UNION


def test_nothing_to_do_is_said_instead_of_a_button(
    browser: Browser, bob: User, make_import: MakeImport, make_zone: MakeZone
) -> None:
    job = planned(make_import({"a.test.zone": zone_text("a.test.", WWW)}, options=Options(new="skip")))
    page = browser(bob).get(at(job)).content.decode()
    assert "No changes to publish" in page
    assert 'id="import-apply"' not in page


def test_the_fingerprint_changes_with_the_effect(job: ImportJob) -> None:
    from dnspanel.transfer.imports import queries

    before = fingerprint(queries.plan_summary(job))
    planned(job)
    assert fingerprint(queries.plan_summary(job)) != before
