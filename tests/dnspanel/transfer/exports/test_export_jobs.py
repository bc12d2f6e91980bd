"""Export jobs: their files, cancellation, resumption and deletion."""

import csv
import gzip
import io
import json
import tarfile
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import IntegrityError
from django.utils import timezone

from dnspanel.accounts.actors.actors import EVERY_RIGHT, Author, Grant, Right
from dnspanel.accounts.audit import audit
from dnspanel.accounts.models import AuditEntry, Role, User
from dnspanel.advisory_locks import Lock
from dnspanel.transfer import job_rights
from dnspanel.transfer.errors import PassphraseRefused, WrongState
from dnspanel.transfer.exports import export_jobs, file
from dnspanel.transfer.exports.exported_rows import snapshot
from dnspanel.transfer.exports.exported_zones import EVERYTHING, Selection
from dnspanel.transfer.models import ExportFormat, ExportJob
from dnspanel.transfer.sealed_keys import Opener
from dnspanel.transfer.signals import work_to_do
from dnspanel.zones.acting import Acting
from dnspanel.zones.errors import RightMissing, Unknown
from dnspanel.zones.models import RunState, Zone
from dnspanel.zones.signing import sign
from tests.dnspanel.zones.conftest import MakeZone
from tests.dnspanel.zones.conftest import make_zone as make_zone
from tests.dnspanel.zones.publishing.test_zone_patches import token_actor
from tests.people import NOW

pytestmark = pytest.mark.django_db(transaction=True)


def make_export(author: User | None, format: str = "json", selection: Selection = EVERYTHING) -> ExportJob:
    return export_jobs.create_export(selection=selection, export_format=format, author=author, now=NOW)


def written(job: ExportJob) -> bytes:
    """Return the uncompressed content of a finished export's file."""
    job.refresh_from_db()
    assert job.state == RunState.DONE, job.failure
    packed = export_jobs.export_path(job).read_bytes()
    assert len(packed) == job.size
    return gzip.decompress(packed)


def zones_in(job: ExportJob) -> list[str]:
    return [json.loads(line)["zone"] for line in written(job).splitlines()]


@pytest.fixture
def zones(make_zone: MakeZone) -> None:
    for name in ("b.test.", "a.test.", "shop.a.test."):
        make_zone("www 300 A 192.0.2.1 | 192.0.2.2", name=name)


def test_everything_is_written_in_order_and_counted(zones: None, alice: User) -> None:
    job = make_export(alice)
    export_jobs.run_export(job.pk)
    assert zones_in(job) == ["a.test.", "b.test.", "shop.a.test."]
    assert (job.zones, job.zones_total, job.records) == (3, 3, 15)


def test_a_search_or_names_choose_zones(zones: None, alice: User) -> None:
    found = make_export(alice, selection=Selection(search="shop"))
    named = make_export(alice, selection=Selection(names=("b.test.", "nothing.test.")))
    for job in (found, named):
        export_jobs.run_export(job.pk)
    assert (zones_in(found), zones_in(named)) == (["shop.a.test."], ["b.test."])


def test_zones_in_the_trash_are_left_out(zones: None, alice: User) -> None:
    Zone.objects.filter(name="b.test.").update(deleted_at=NOW)
    job = make_export(alice)
    export_jobs.run_export(job.pk)
    assert "b.test." not in zones_in(job)


def test_each_format_has_its_own_content(zones: None, alice: User) -> None:
    jobs = {}
    for format in ExportFormat.values:
        jobs[format] = make_export(None, format)
        export_jobs.run_export(jobs[format].pk)
    with tarfile.open(fileobj=io.BytesIO(written(jobs["bind"]))) as tar:
        assert tar.getnames()[-3:] == ["zones/a.test.zone", "zones/b.test.zone", "zones/shop.a.test.zone"]
    rows = list(csv.DictReader(io.StringIO(written(jobs["csv"]).decode(), newline="")))
    assert len(rows) == jobs["csv"].records == 15
    assert rows[0]["zone"] == "a.test."
    assert b"www.a.test. A\n" in written(jobs["queries"])
    assert jobs["queries"].records == 9


def test_a_person_who_was_shut_out_gets_nothing(zones: None, alice: User) -> None:
    job = make_export(alice)
    User.objects.filter(pk=alice.pk).update(is_active=False)
    export_jobs.run_export(job.pk)
    job.refresh_from_db()
    assert (job.state, job.failure) == ("failed", job_rights.AUTHOR_UNABLE)
    assert not export_jobs.export_path(job).exists()


def test_an_export_shows_one_moment(zones: None, make_zone: MakeZone) -> None:
    with snapshot() as conn:
        conn.execute("SELECT 1 FROM zones_zone LIMIT 1")
        make_zone("www 300 A 192.0.2.1", name="later.test.")
        out = io.BytesIO()
        file.write_export(conn, Zone.objects.filter(deleted_at=None), out, export_format="bind", mtime=1)
    assert b"later.test" not in out.getvalue()


def test_nothing_can_be_written_on_the_way(zones: None) -> None:
    import psycopg

    with snapshot() as conn, pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
        conn.execute("DELETE FROM zones_rrset")


def test_a_worker_is_woken_and_can_be_woken_twice(
    zones: None, alice: User, django_capture_on_commit_callbacks: Any
) -> None:
    woken: list[int] = []

    def listen(sender: object, job_id: int, **_: Any) -> None:
        assert sender is ExportJob
        woken.append(job_id)

    work_to_do.connect(listen)
    try:
        job = make_export(alice)
    finally:
        work_to_do.disconnect(listen)
    assert woken == [job.pk] == export_jobs.unfinished_exports()
    export_jobs.run_export(job.pk)
    before = written(job)
    assert export_jobs.run_export(job.pk).endswith("nothing to do")
    assert written(job) == before


def test_two_workers_do_not_write_one_export(zones: None, alice: User) -> None:
    job = make_export(alice)
    with snapshot() as conn:
        conn.execute("SELECT pg_try_advisory_xact_lock(%s, %s)", (Lock.EXPORT, job.pk))
        assert export_jobs.run_export(job.pk).endswith("another worker is at it")
        job.refresh_from_db()
        assert job.state == RunState.WAITING
    export_jobs.run_export(job.pk)
    assert len(zones_in(job)) == 3


def test_what_a_killed_worker_began_is_written_from_the_beginning(zones: None, alice: User) -> None:
    job = make_export(alice)
    ExportJob.objects.filter(pk=job.pk).update(state=RunState.RUNNING, zones=2, records=9)
    export_jobs.exports_directory().mkdir(parents=True)
    export_jobs.export_path(job).with_name(export_jobs.export_path(job).name + ".part").write_bytes(b"half")
    assert export_jobs.unfinished_exports() == [job.pk]
    export_jobs.run_export(job.pk)
    assert len(zones_in(job)) == 3
    assert job.records == 15
    assert [path.name for path in export_jobs.exports_directory().iterdir()] == [f"{job.pk}.jsonl.gz"]


def test_a_cancelled_export_stops_and_leaves_no_file(zones: None, alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    job = make_export(alice)
    monkeypatch.setattr(export_jobs, "_TOLD_SECONDS", 0.0)
    seen: list[int] = []
    original = file.Tally

    class CancellingTally(original):  # type: ignore[misc, valid-type]
        """A tally that cancels the export after its first zone."""

        def __setattr__(self, name: str, value: int) -> None:
            super().__setattr__(name, value)
            if name == "zones" and value == 1:
                export_jobs.cancel_export(job=job, now=NOW)
            seen.append(value)

    monkeypatch.setattr(file, "Tally", CancellingTally)
    assert export_jobs.run_export(job.pk).endswith("cancelled")
    job.refresh_from_db()
    assert job.state == RunState.CANCELLED
    assert list(export_jobs.exports_directory().iterdir()) == []
    with pytest.raises(WrongState):
        export_jobs.cancel_export(job=job, now=NOW)


def test_a_full_disk_is_explained(zones: None, alice: User, settings: Any, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    settings.TRANSFER_DIR = tmp_path / "file"  # no directory can be created below a file
    job = make_export(alice)
    export_jobs.run_export(job.pk)
    job.refresh_from_db()
    assert (job.state, job.failure) == (RunState.FAILED, "The export file can’t be written: Not a directory.")


def test_one_person_cannot_take_all_workers(zones: None, alice: User, bob: User) -> None:
    for _ in range(export_jobs.MOST_UNFINISHED):
        make_export(alice)
    with pytest.raises(WrongState, match="unfinished exports"):
        make_export(alice)
    make_export(bob)


def test_files_are_forgotten_after_a_day(zones: None, alice: User) -> None:
    old, young = make_export(alice), make_export(alice)
    for job in (old, young):
        export_jobs.run_export(job.pk)
    ended = timezone.now()
    ExportJob.objects.filter(pk=old.pk).update(ended_at=ended - timedelta(hours=25))
    stray = export_jobs.exports_directory() / "999999.csv.gz"
    stray.write_bytes(b"of a job that is gone")
    assert export_jobs.forget_old_exports(now=ended) == 2
    old.refresh_from_db()
    assert old.forgotten_at is not None
    assert not export_jobs.export_path(old).exists()
    assert not stray.exists()
    assert len(zones_in(young)) == 3


def test_compressed_output_is_what_gzip_reads() -> None:
    out = io.BytesIO()
    packed = file.Gzip(out, 1_700_000_000)
    text = b"".join(b"line %d\n" % number for number in range(50_000))
    for at in range(0, len(text), 4096):
        packed.write(text[at : at + 4096])
    packed.close()
    assert gzip.decompress(out.getvalue()) == text
    assert len(out.getvalue()) < len(text) // 3


PASSPHRASE = "a long passphrase"


class TestWithKeys:
    """Exports with the private keys of zones, encrypted by a passphrase."""

    @pytest.fixture
    def signed(self, zones: None, alice: User) -> Zone:
        """Sign b.test., one of the three zones."""
        zone = Zone.objects.get(name="b.test.")
        sign.sign(zones=[zone], acting=Acting(author=alice, channel="web", now=NOW))
        return zone

    def make(self, author: Author, passphrase: str = PASSPHRASE, format: str = "json", **more: Any) -> ExportJob:
        return export_jobs.create_export(
            **({"selection": EVERYTHING} | more),
            export_format=format,
            author=author,
            now=NOW,
            keys_passphrase=passphrase,
        )

    def test_it_has_them_and_the_audit_log_says_who(self, signed: Zone, alice: User) -> None:
        with audit.coming_from(audit.Origin("192.0.2.7", "request 7")):
            job = self.make(alice)
        export_jobs.run_export(job.pk)
        [key] = json.loads(written(job).splitlines()[1])["dnssec"]["keys"]
        assert job.keys == 1
        assert Opener(PASSPHRASE).open(key["sealed"], zone="b.test.", dnskey=key["dnskey"]).startswith("Private-key-")
        entry = AuditEntry.objects.get(action="dnssec.keys_export")
        assert (entry.user, entry.target, entry.details) == (alice, f"export {job.pk}", {"keys": 1})
        assert (entry.address, entry.request_id) == ("192.0.2.7", "request 7")

    def test_without_a_passphrase_there_is_none_and_no_entry(self, signed: Zone, alice: User) -> None:
        job = make_export(alice)
        export_jobs.run_export(job.pk)
        assert b"sealed" not in written(job)
        assert (job.keys, AuditEntry.objects.filter(action="dnssec.keys_export").count()) == (0, 0)

    def test_the_passphrase_rests_encrypted_and_is_gone_however_it_ends(
        self, signed: Zone, alice: User, settings: Any, tmp_path: Path
    ) -> None:
        done, cancelled, failed = (self.make(alice) for _ in range(3))
        for job in (done, cancelled, failed):
            job.refresh_from_db()
            assert job.secret is not None
            assert PASSPHRASE.encode() not in bytes(job.secret)
        export_jobs.run_export(done.pk)
        export_jobs.cancel_export(job=cancelled, now=NOW)
        (tmp_path / "file").write_bytes(b"")
        settings.TRANSFER_DIR = tmp_path / "file"
        export_jobs.run_export(failed.pk)
        assert list(ExportJob.objects.order_by("pk").values_list("state", "secret")) == [
            ("done", None),
            ("cancelled", None),
            ("failed", None),
        ]

    def test_the_database_keeps_no_secret_of_an_export_that_ended(self, signed: Zone, alice: User) -> None:
        with pytest.raises(IntegrityError, match="exportjob_secret_gone"):
            ExportJob.objects.filter(pk=self.make(alice).pk).update(state=RunState.DONE)

    def test_who_may_not_export_the_keys_of_one_zone_gets_no_file(self, signed: Zone, bob: User) -> None:
        with pytest.raises(RightMissing, match=r"private keys for the zone b\.test"):
            self.make(bob)
        assert not ExportJob.objects.exists()
        assert self.make(bob, selection=Selection(names=("a.test.",))).secret is not None

    def test_a_right_over_every_signed_zone_is_enough(self, signed: Zone, alice: User) -> None:
        reading = Grant(frozenset({Right.READ}), everywhere=True)
        one = token_actor(alice, reading, Grant(frozenset({Right.EXPORT_KEYS}), zones=frozenset({signed.pk})))
        export_jobs.run_export(self.make(one).pk)
        assert ExportJob.objects.get().keys == 1
        with pytest.raises(RightMissing):
            self.make(token_actor(alice, Grant(EVERY_RIGHT, everywhere=True)))

    def test_a_right_that_was_lost_meanwhile_ends_it(self, signed: Zone, alice: User) -> None:
        job = self.make(alice)
        User.objects.filter(pk=alice.pk).update(role=Role.EDITOR)
        export_jobs.run_export(job.pk)
        job.refresh_from_db()
        assert (job.state, job.secret) == ("failed", None)
        assert job.failure == "You don’t have permission to read the private keys for the zone b.test."
        assert list(export_jobs.exports_directory().glob("*")) == []

    def test_a_right_that_was_lost_since_keeps_the_file_back(self, signed: Zone, alice: User) -> None:
        job = self.make(alice)
        export_jobs.run_export(job.pk)
        job.refresh_from_db()
        assert job.keyed_zones == [signed.pk]
        export_jobs.open_file(job=job, person=alice).close()
        reading = Grant(frozenset({Right.READ}), everywhere=True)
        exporting = Grant(frozenset({Right.EXPORT_KEYS}), zones=frozenset({signed.pk}))
        export_jobs.open_file(job=job, person=token_actor(alice, reading, exporting)).close()
        with pytest.raises(RightMissing, match=r"private keys for the zone b\.test"):
            export_jobs.open_file(job=job, person=token_actor(alice, reading))
        elsewhere = Grant(EVERY_RIGHT, zones=frozenset({Zone.objects.get(name="a.test.").pk}))
        with pytest.raises(Unknown):
            export_jobs.open_file(job=job, person=token_actor(alice, elsewhere))
        Zone.objects.filter(pk=signed.pk).update(deleted_at=NOW)
        export_jobs.open_file(job=job, person=token_actor(alice, reading)).close()

    def test_a_zone_that_was_signed_meanwhile_counts(self, zones: None, alice: User, bob: User) -> None:
        job = self.make(bob)
        acting = Acting(author=alice, channel="web", now=NOW)
        sign.sign(zones=[Zone.objects.get(name="a.test.")], acting=acting)
        export_jobs.run_export(job.pk)
        job.refresh_from_db()
        assert "private keys for the zone a.test" in job.failure

    def test_the_panel_itself_may_have_all(self, signed: Zone) -> None:
        job = self.make(None)
        export_jobs.run_export(job.pk)
        assert b"sealed" in written(job)

    @pytest.mark.parametrize("format", ["bind", "csv", "queries"])
    def test_other_formats_have_no_place_for_them(self, signed: Zone, alice: User, format: str) -> None:
        with pytest.raises(PassphraseRefused, match="be exported only as JSON"):
            self.make(alice, format=format)

    def test_a_short_passphrase_is_refused(self, signed: Zone, alice: User) -> None:
        with pytest.raises(PassphraseRefused, match="12 to 1,000"):
            self.make(alice, "too short")

    def test_a_cancelled_one_is_in_nobodys_hands(
        self, signed: Zone, alice: User, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        job = self.make(alice)
        original = export_jobs._finish

        def finish(*args: Any, **how: Any) -> bool:
            export_jobs.cancel_export(job=job, now=NOW)
            return original(*args, **how)

        monkeypatch.setattr(export_jobs, "_finish", finish)
        assert export_jobs.run_export(job.pk).endswith("cancelled")
        assert not AuditEntry.objects.filter(action="dnssec.keys_export").exists()
        assert list(export_jobs.exports_directory().iterdir()) == []
