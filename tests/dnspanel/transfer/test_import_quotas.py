"""Quotas for imports and their files, and the display of usage."""

import io
from typing import Any

import pytest

from dnspanel.accounts.models import Membership, Team, User
from dnspanel.accounts.quotas.quota_amounts import Kind
from dnspanel.accounts.quotas.quota_edit import set_quotas
from dnspanel.accounts.quotas.quotas import holder_of
from dnspanel.transfer import import_quotas
from dnspanel.transfer.errors import QuotaExceeded
from dnspanel.transfer.files import upload
from dnspanel.transfer.imports import import_jobs
from dnspanel.transfer.models import Action, ImportFault, ImportJob, ImportPiece, ImportZone, SourceKind, State
from dnspanel.zones.models import Zone
from tests.dnspanel.transfer.conftest import MakeImport, import_all, work_through, zone_text
from tests.people import NOW, make_person

pytestmark = pytest.mark.django_db(transaction=True)


def give(of: User | Team, **amounts: int) -> None:
    set_quotas(of=of, quotas={Kind[kind.upper()]: amount for kind, amount in amounts.items()}, by=None, now=NOW)


def new_import(author: User, source: str = SourceKind.FILES) -> ImportJob:
    return import_jobs.create_job(source=source, title="files", author=author, now=NOW)


def send(job: ImportJob, name: str, content: bytes) -> int:
    return upload.receive_chunk(job=job, name=name, offset=0, stream=io.BytesIO(content), size=len(content))


def used(holder: User | Team, kind: Kind) -> int | None:
    of = holder_of(holder)
    return {usage.kind: usage.used for usage in import_quotas.usage_of(of, NOW)}[kind]


def test_imports_under_way_are_counted_until_they_end(alice: User, make_import: MakeImport) -> None:
    give(alice, imports=1)
    job = new_import(alice)
    with pytest.raises(QuotaExceeded) as refused:
        new_import(alice)
    assert str(refused.value) == (
        "Quota exceeded: limit 1 import in progress, used 1, requested 1. "
        "An administrator can raise your limit. "
        "Cancel imports that you no longer need."
    )
    with pytest.raises(QuotaExceeded):
        make_import({"a.zone": zone_text("a.test.")})
    import_jobs.cancel(job=job, now=NOW)
    make_import({"a.zone": zone_text("a.test.")})


def test_bytes_on_the_disk_are_those_of_uploads_and_of_what_was_made_of_them(
    alice: User, make_import: MakeImport
) -> None:
    job = make_import({"a.zone": zone_text("a.test.", "www A 192.0.2.1")})
    work_through(job)
    piece = ImportPiece.objects.get(job=job)
    assert piece.spool_size == (upload.import_directory(job.pk) / "spool-000001").stat().st_size
    assert used(alice, Kind.BYTES) == piece.spool_size + piece.stage_size
    files = new_import(alice)
    send(files, "one", b"x" * 100)
    send(files, "two", b"x" * 50)
    upload.remove_file(job=files, name="one")
    assert used(alice, Kind.BYTES) == piece.spool_size + piece.stage_size + 50
    import_jobs.cancel(job=job, now=NOW)
    import_jobs.delete_job(job=job)
    assert used(alice, Kind.BYTES) == 50


def test_an_upload_ends_where_the_quota_does_and_keeps_what_it_had(alice: User) -> None:
    give(alice, bytes=100)
    job, other = new_import(alice), new_import(alice)
    send(job, "a", b"x" * 60)
    with pytest.raises(QuotaExceeded) as refused:
        send(other, "b", b"x" * 41)
    assert str(refused.value) == (
        "Quota exceeded: limit 100 bytes of imported files, used 60 bytes, requested 41 bytes. "
        "An administrator can raise your limit. Delete old imports."
    )
    send(other, "b", b"x" * 40)
    assert [file.size for each in (job, other) for file in upload.uploaded_files(each)] == [60, 40]


def test_chunks_that_began_together_are_counted_one_after_the_other(alice: User) -> None:
    """The quota has room for each chunk at its start. The check when a chunk ends refuses the second."""
    give(alice, bytes=100)
    job = new_import(alice)

    class Slow(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            if self.tell() == 0:
                send(job, "fast", b"x" * 60)
            return super().read(size)

    with pytest.raises(QuotaExceeded):
        upload.receive_chunk(job=job, name="slow", offset=0, stream=Slow(b"x" * 60), size=60)
    assert {file.name: file.size for file in upload.uploaded_files(job)} == {"slow": 0, "fast": 60}
    assert used(alice, Kind.BYTES) == 60


def test_reading_a_source_stops_where_the_quota_ends_and_goes_on_later(alice: User, make_import: MakeImport) -> None:
    job = new_import(alice)
    send(job, "a.zone", zone_text("a.test.").encode())
    give(alice, bytes=ImportJob.objects.get(pk=job.pk).upload_bytes)
    import_jobs.start_scan(job=job, now=NOW)
    work_through(job)
    assert job.paused
    assert job.failure.startswith("Quota exceeded")
    give(alice, bytes=1 << 20)
    import_jobs.resume(job=job, now=NOW)
    job.refresh_from_db()
    assert work_through(job).state == State.CHOOSING


def test_more_zones_than_allowed_are_said_before_the_first_is_created(alice: User, make_import: MakeImport) -> None:
    give(alice, zones=1)
    job = make_import({f"{name}.zone": zone_text(f"{name}.test.") for name in "ab"})
    with pytest.raises(
        QuotaExceeded, match=r"Quota exceeded: limit 1 zone, used 0, requested 2\..* Nothing was imported\."
    ):
        import_all(job)
    assert job.state == State.PLANNED
    assert not Zone.objects.exists()
    give(alice, zones=2)
    import_jobs.start_apply(job=job, author=User.objects.get(pk=alice.pk), now=NOW)
    assert work_through(job).state == State.DONE


def test_a_zone_too_large_is_a_fault_of_that_zone_alone(alice: User, make_import: MakeImport) -> None:
    give(alice, rrsets=3)
    import_all(make_import({"old.zone": zone_text("old.test.")}))
    many = [f"w{number} A 192.0.2.1" for number in range(5)]
    texts = {"new.zone": zone_text("new.test.", *many), "old.zone": zone_text("old.test.", *many)}
    job = make_import(texts | {"small.zone": zone_text("small.test.", "www A 192.0.2.1")})
    import_all(job)
    actions = dict(ImportZone.objects.filter(job=job).values_list("name", "action"))
    assert actions == {"new.test.": Action.FAILED, "old.test.": Action.FAILED, "small.test.": Action.CREATE}
    assert sorted(ImportFault.objects.filter(job=job).values_list("zone", "code")) == [
        ("new.test.", "too-many-rrsets"),
        ("old.test.", "too-many-rrsets"),
    ]


def test_what_a_team_has_is_what_its_members_have(alice: User, settings: Any) -> None:
    team = Team.objects.create(name="Alpha", created_at=NOW)
    people = [make_person(name, "member") for name in ("carol", "dan")]
    for person in people:
        Membership.objects.create(team=team, user=person, role="editor")
    give(team, imports=2)
    for person in people:
        send(new_import(person), "a", b"x" * 10)
    with pytest.raises(QuotaExceeded, match="Quota for team Alpha exceeded: limit 2 imports in progress, used 2"):
        new_import(people[0])
    assert (used(team, Kind.IMPORTS), used(team, Kind.BYTES), used(team, Kind.OPERATIONS)) == (2, 20, None)
    assert used(people[0], Kind.OPERATIONS) == 0
