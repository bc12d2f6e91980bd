"""`manage.py import --here`: the steps of an import in the browser, in this process."""

import io
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from dnspanel.accounts.models import User
from dnspanel.fleet.models import Node
from dnspanel.transfer.imports import import_jobs
from dnspanel.transfer.models import ImportJob, State
from dnspanel.zones.models import Publication, Zone
from tests.dnspanel.fleet.conftest import MakeNode
from tests.dnspanel.fleet.conftest import active_node as active_node
from tests.dnspanel.taken_back import refusing
from tests.dnspanel.transfer.conftest import lines_of, zone_text

pytestmark = pytest.mark.django_db


def run(*arguments: str, **options: Any) -> str:
    out = io.StringIO()
    call_command("import", *arguments, here=True, stdout=out, stderr=io.StringIO(), **options)
    return out.getvalue()


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    """Return a directory with two valid zone files and a faulty one."""
    zones = tmp_path / "zones"
    zones.mkdir()
    for name in ("a.test.", "b.test."):
        (zones / f"{name}zone").write_text(zone_text(name, "www 300 A 192.0.2.1"))
    (zones / "bad.test.zone").write_text(zone_text("bad.test.", "www 300 AAAA 192.0.2.1"))
    return zones


def test_a_directory_is_imported_after_the_dry_run(directory: Path, alice: User) -> None:
    output = run(str(directory), yes=True, author="alice")
    assert "Found 3 zones" in output
    assert "Would create 2 zones" in output
    assert "Published 2 zones" in output
    assert "bad.test.zone:6:" in output
    assert "www.a.test. 300 1 192.0.2.1" in lines_of("a.test.")
    assert Publication.objects.get().author == alice


@pytest.mark.django_db(transaction=True)
def test_zones_that_the_canary_refuses_end_it_with_an_error(directory: Path, active_node: MakeNode) -> None:
    Node.objects.filter(pk=active_node("canary").pk).update(is_ring0=True)
    with refusing(1), pytest.raises(CommandError, match="2 zones were reverted"):
        run(str(directory), yes=True)
    assert not Zone.objects.filter(deleted_at=None).exists()


def test_nothing_is_applied_without_a_yes(directory: Path) -> None:
    output = run(str(directory))
    assert "Would create 2 zones" in output
    assert not Zone.objects.exists()
    job = ImportJob.objects.get()
    assert job.state == State.PLANNED
    assert "Published 2 zones" in run(resume=job.pk, yes=True)


def test_an_import_that_failed_is_resumed(directory: Path) -> None:
    run(str(directory))
    job = ImportJob.objects.get()
    import_jobs.start_apply(job=job, author=None, now=timezone.now())
    import_jobs.pause(job=job, now=timezone.now())
    ImportJob.objects.update(failure="The disk was full.")
    assert "Published 2 zones" in run(resume=job.pk)


def test_an_import_is_undone(directory: Path) -> None:
    run(str(directory), yes=True)
    assert "Undone: 2 zones. Kept: 0" in run(undo=ImportJob.objects.get().pk)
    assert not Zone.objects.filter(deleted_at=None).exists()


def test_what_is_missing_is_reported() -> None:
    with pytest.raises(CommandError, match="Enter the files"):
        run()
    with pytest.raises(CommandError, match="does not exist"):
        run("/nowhere/at/all.zone")
    with pytest.raises(CommandError, match="no import 77"):
        run(resume=77)
    with pytest.raises(CommandError, match="No active person is named"):
        run("x", author="mallory")
