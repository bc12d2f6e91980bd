"""Fix and retry: failed zones' texts with their faults, one-click fixes, and a new import of the texts."""

from uuid import uuid4

import pytest

from dnspanel.accounts.models import User
from dnspanel.transfer.models import Action, ImportFault, ImportJob, ImportZone, SourceKind, State
from dnspanel.web.imports.fix import line_of, with_fix
from tests.dnspanel.transfer.conftest import MakeImport, directories, import_all, make_import, work_through, zone_text
from tests.dnspanel.web.conftest import Browser

__all__ = ["directories", "make_import"]

BAD = zone_text("bad.test.", "www 300 A 192.0.2.300", "@ MX mail.bad.test.")


@pytest.fixture
def job(make_import: MakeImport) -> ImportJob:
    return import_all(make_import({"a.test.zone": zone_text("a.test."), "bad.test.zone": BAD}))


@pytest.fixture
def failed(job: ImportJob) -> ImportZone:
    return ImportZone.objects.get(job=job, action=Action.FAILED)


def fix_page(job: ImportJob) -> str:
    return f"/imports/{job.pk}/fix/"


def fault(**fields: object) -> ImportFault:
    return ImportFault(**{"path": "z", "line": 2, "source": "b A 1", "fix": "b A 192.0.2.1", **fields})


def test_the_page_shows_each_text_with_its_faults(browser: Browser, bob: User, job: ImportJob) -> None:
    page = browser(bob).get(fix_page(job)).content.decode()
    assert "www 300 A 192.0.2.300" in page
    assert "Line 6, column 11" in page
    assert page.count("Use suggestion") == 1


def test_a_proposed_fix_goes_into_the_text_as_typed_so_far(
    browser: Browser, bob: User, job: ImportJob, failed: ImportZone
) -> None:
    typed = BAD.replace("192.0.2.300", "192.0.2.30")
    proposed = ImportFault.objects.exclude(fix="").get(job=job)
    sent = {f"text-{failed.pk}": typed, "zone": failed.pk, "fix": proposed.pk, "form_id": uuid4()}
    page = browser(bob).post(fix_page(job), sent).content.decode()
    assert "www 300 A 192.0.2.30\n" in page
    assert "@ MX 10 mail.bad.test." in page
    assert ImportJob.objects.count() == 1  # this imports nothing


def test_corrected_texts_become_an_import_of_their_own(
    browser: Browser, bob: User, job: ImportJob, failed: ImportZone
) -> None:
    right = BAD.replace("192.0.2.300", "192.0.2.30").replace("MX mail", "MX 10 mail").replace("\n", "\r\n")
    sent = {f"text-{failed.pk}": right, "zone": failed.pk, "form_id": str(uuid4())}
    address = browser(bob).post(fix_page(job), sent)["Location"]
    again = ImportJob.objects.get(source=SourceKind.RETRY)
    assert address == f"/imports/{again.pk}/"
    assert again.retry_of == job
    assert import_all(again).state == State.DONE
    assert ImportZone.objects.get(job=again).action == Action.CREATE
    assert browser(bob).post(fix_page(job), sent)["Location"] == address  # a second click creates no second import


def test_without_a_tick_nothing_is_tried(browser: Browser, bob: User, job: ImportJob, failed: ImportZone) -> None:
    page = browser(bob).post(fix_page(job), {f"text-{failed.pk}": BAD, "form_id": uuid4()}).content.decode()
    assert "Select the zones to import again." in page
    assert ImportJob.objects.count() == 1


def test_without_failed_zones_the_page_says_so(browser: Browser, bob: User, make_import: MakeImport) -> None:
    job = work_through(make_import({"a.test.zone": zone_text("a.test.")}))
    assert "No failed zones" in browser(bob).get(fix_page(job)).content.decode()


def test_what_was_typed_is_text_and_no_markup(browser: Browser, bob: User, job: ImportJob, failed: ImportZone) -> None:
    sent = {f"text-{failed.pk}": "</textarea><b>", "form_id": uuid4()}
    page = browser(bob).post(fix_page(job), sent).content.decode()
    assert "&lt;/textarea&gt;&lt;b&gt;" in page


@pytest.mark.parametrize(
    ("lines", "at"),
    [
        (["a A 1", "b A 1"], 2),  # at its line
        (["new", "a A 1", "b A 1"], 3),  # after a line was inserted above
        (["a A 1", "b A 192.0.2.1"], 0),  # the line was changed
        (["b A 1", "x", "b A 1"], 0),  # ambiguous
    ],
)
def test_a_fault_is_found_in_a_text_that_was_edited(lines: list[str], at: int) -> None:
    assert line_of(fault(), lines, "z") == at


def test_a_fault_of_an_included_file_is_not_looked_for_in_this_one() -> None:
    assert line_of(fault(path="other"), ["a", "b A 1"], "z") == 0


def test_a_fix_stands_in_place_of_its_line() -> None:
    assert with_fix("a A 1\r\nb A 1\r\n", fault()) == "a A 1\nb A 192.0.2.1\n"
    assert with_fix("a A 1\nc A 1\n", fault()) == "a A 1\nc A 1\n"
