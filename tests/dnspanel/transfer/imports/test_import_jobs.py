"""The actions on imports, and their refusal in later phases of an import."""

from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest

from dnspanel.accounts.models import User
from dnspanel.transfer.documents import Options
from dnspanel.transfer.errors import WrongState
from dnspanel.transfer.files import spool
from dnspanel.transfer.imports import import_jobs
from dnspanel.transfer.models import Action, ImportJob, ImportPiece, ImportZone, PieceState, SourceKind, State
from dnspanel.transfer.signals import work_to_do
from tests.dnspanel.transfer.conftest import MakeImport, import_all, work_through, zone_text
from tests.people import NOW

AXFR = {"server": "9.9.9.9", "port": 53}

pytestmark = pytest.mark.django_db


def test_files_are_waited_for_and_servers_are_read_at_once(alice: User) -> None:
    waiting = import_jobs.create_job(source=SourceKind.FILES, title="files", author=alice, now=NOW)
    reading = import_jobs.create_job(source=SourceKind.AXFR, title="server", author=alice, now=NOW, parameters=AXFR)
    assert (waiting.state, reading.state) == (State.UPLOADING, State.SCANNING)
    import_jobs.start_scan(job=waiting, now=NOW)
    with pytest.raises(WrongState, match="scanning"):
        import_jobs.start_scan(job=waiting, now=NOW)


def test_the_secret_of_a_source_is_not_readable_in_the_database(alice: User) -> None:
    job = import_jobs.create_job(
        source=SourceKind.AXFR, title="server", author=alice, now=NOW, parameters=AXFR, secret={"key": "open sesame"}
    )
    stored = ImportJob.objects.values().get(pk=job.pk)
    assert b"sesame" not in bytes(stored["secret"])
    assert "sesame" not in str({key: value for key, value in stored.items() if key != "secret"})


def test_a_form_sent_twice_makes_one_import(alice: User) -> None:
    form_id = uuid4()
    made = [
        import_jobs.create_paste(title="one", text=b"x", zone="", author=alice, now=NOW, form_id=form_id).pk
        for _ in range(2)
    ]
    assert made[0] == made[1]


def test_csv_and_json_get_apex_records_where_they_have_none(alice: User) -> None:
    job = import_jobs.create_job(source=SourceKind.CSV, title="hosts", author=alice, now=NOW)
    assert (Options.from_json(job.options).soa, Options.from_json(job.options).nameservers) == ("missing", "missing")


def test_every_start_wakes_the_workers(alice: User, django_capture_on_commit_callbacks: Any) -> None:
    rung: list[int] = []

    def wake(sender: Any, job_id: int, **kwargs: Any) -> None:
        rung.append(job_id)

    work_to_do.connect(wake)
    try:
        with django_capture_on_commit_callbacks(execute=True):
            job = import_jobs.create_paste(title="one", text=b"x", zone="", author=alice, now=NOW)
    finally:
        work_to_do.disconnect(wake)
    assert rung == [job.pk]


def test_options_that_change_what_is_read_scan_anew_and_keep_choices(make_import: MakeImport) -> None:
    job = work_through(make_import({"a": zone_text("a.test.", "www 300 A 192.0.2.1"), "b": zone_text("b.test.")}))
    kept = ImportZone.objects.get(job=job, name="b.test.")
    import_jobs.choose(job=job, choice="skip", ids=[kept.pk], now=NOW)
    import_jobs.set_options(job=job, options=Options(ttl=60), now=NOW)
    assert job.state == State.SCANNING
    job = import_all(job)
    assert dict(ImportZone.objects.filter(job=job).values_list("name", "action")) == {
        "a.test.": Action.CREATE,
        "b.test.": Action.SKIP,
    }
    from dnspanel.zones.models import RRset

    assert set(RRset.objects.values_list("ttl", flat=True)) == {60}


def test_options_that_only_say_what_becomes_of_it_need_no_scan(make_import: MakeImport) -> None:
    job = work_through(make_import({"a": zone_text("a.test.")}))
    import_jobs.set_options(job=job, options=Options(new="skip"), now=NOW)
    assert job.state == State.CHOOSING
    assert ImportPiece.objects.get(job=job).state == PieceState.SCANNED
    import_all(job)
    assert ImportZone.objects.get(job=job).action == Action.SKIP


def test_a_choice_after_the_dry_run_asks_for_another_one(make_import: MakeImport) -> None:
    job = work_through(make_import({"a": zone_text("a.test."), "b": zone_text("b.test.")}))
    import_jobs.start_plan(job=job, now=NOW)
    work_through(job)
    assert import_jobs.choose(job=job, choice="skip", search="b.test", now=NOW) == 1
    job.refresh_from_db()
    assert job.state == State.CHOOSING
    with pytest.raises(WrongState):
        import_jobs.start_apply(job=job, author=None, now=NOW)


def test_an_import_at_work_cannot_be_forgotten(make_import: MakeImport) -> None:
    job = make_import({"a": zone_text("a.test.")})
    with pytest.raises(WrongState):
        import_jobs.delete_job(job=job)
    job = import_all(job)
    assert spool.import_directory(job.pk).exists()
    import_jobs.delete_job(job=job)
    assert not spool.import_directory(job.pk).exists()
    assert not ImportZone.objects.exists()


def test_nothing_to_correct_is_refused(make_import: MakeImport, alice: User) -> None:
    job = work_through(make_import({"a": zone_text("a.test.")}))
    sound = ImportZone.objects.get(job=job)
    with pytest.raises(WrongState):
        import_jobs.retry_failed(job=job, texts={sound.pk: "x"}, author=alice, now=NOW)


def test_files_of_old_imports_go_and_their_reports_stay(make_import: MakeImport) -> None:
    old, recent = (import_all(make_import({"a": zone_text(name)})) for name in ("a.test.", "b.test."))
    ImportJob.objects.filter(pk=old.pk).update(ended_at=NOW - timedelta(days=31))
    ImportJob.objects.filter(pk=recent.pk).update(ended_at=NOW - timedelta(days=29))
    assert import_jobs.forget_old_files(now=NOW) == 1
    assert not spool.import_directory(old.pk).exists()
    assert spool.import_directory(recent.pk).exists()
    assert ImportZone.objects.filter(job=old).exists()


def test_old_imports_are_forgotten_with_their_reports(make_import: MakeImport, settings: Any) -> None:
    job = make_import({"a.zone": zone_text("a.test.", "www 300 A 192.0.2.1")})
    ImportJob.objects.filter(pk=job.pk).update(state=State.DONE, ended_at=NOW)
    settings.KEEP_DAYS = settings.KEEP_DAYS | {"imports": 30.0}
    running = make_import({"b.zone": zone_text("b.test.", "www 300 A 192.0.2.1")})
    assert import_jobs.forget_old_imports(now=NOW + timedelta(days=29)) == 0
    assert import_jobs.forget_old_imports(now=NOW + timedelta(days=31)) == 1
    assert list(ImportJob.objects.values_list("pk", flat=True)) == [running.pk]
    settings.KEEP_DAYS = settings.KEEP_DAYS | {"imports": 0.0}
    assert import_jobs.forget_old_imports(now=NOW + timedelta(days=9_999)) == 0
