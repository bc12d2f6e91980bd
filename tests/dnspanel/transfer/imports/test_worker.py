"""Complete imports in all steps: scan, plan, publication, repetition and undo.

Tests `imports.import_plan`, `imports.scan`, `imports.undo`, `imports.kept_keys` and `imports.taken_back` too.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.db import IntegrityError, connection

from dnspanel.accounts.audit import audit
from dnspanel.accounts.models import AuditEntry, User
from dnspanel.accounts.secrets.vault import encrypt_secret
from dnspanel.publish.models import PreparedRows
from dnspanel.texts import Text
from dnspanel.transfer import job_rights
from dnspanel.transfer.documents import Options
from dnspanel.transfer.files import spool
from dnspanel.transfer.imports import apply_piece, import_jobs, queries, stage, worker
from dnspanel.transfer.models import Action, ImportJob, ImportPiece, ImportZone, KeptItem, KeptKind, PieceState, State
from dnspanel.transfer.zone_templates import edit_template, server_set_text
from dnspanel.webhooks import place_publish_hooks
from dnspanel.webhooks.place_publish_hooks import HookTerms
from dnspanel.zones.dnssec import key_material
from dnspanel.zones.dnssec import queries as signing
from dnspanel.zones.governance.publish_rules import Scope
from dnspanel.zones.log import publish_hold
from dnspanel.zones.models import Channel, LastSerial, Publication, Revision, RRset, SigningChange, TemplateLink, Zone
from tests.dnspanel.taken_back import REASON, take_back
from tests.dnspanel.transfer.conftest import MakeImport, import_all, lines_of, work_through, zone_text
from tests.dnspanel.transfer.zone_templates.test_server_set_text import HOUSE, OTHER, apex, make_set
from tests.dnspanel.webhooks.answering import Answering
from tests.dnspanel.webhooks.conftest import answering as answering
from tests.dnspanel.webhooks.conftest import at_home as at_home
from tests.dnspanel.zones.conftest import rr
from tests.people import NOW
from tests.publishing import change_rrsets

pytestmark = pytest.mark.django_db

WWW = "www 300 A 192.0.2.1"


def actions(job: ImportJob) -> dict[str, str]:
    return dict(ImportZone.objects.filter(job=job).values_list("name", "action"))


def texts(*names: str) -> dict[str, str]:
    return {f"{name}zone": zone_text(name, WWW) for name in names}


def change(name: str, line: str, author: User) -> None:
    """Publish an edit of one RRset, as a person other than the import's author."""
    rrset = rr(line, origin=name)
    change_rrsets(
        zone=Zone.objects.get(name=name, deleted_at=None),
        changes={(rrset.name, rrset.type): rrset},
        author=author,
        channel=Channel.WEB,
        now=NOW,
    )


def test_new_zones_are_created_in_one_publication(make_import: MakeImport) -> None:
    job = import_all(make_import(texts("a.test.", "b.test.")))
    assert job.state == State.DONE, job.failure
    assert lines_of("b.test.") == {
        "b.test. 3600 2 ns1.example.net. | ns2.example.net.",
        "www.b.test. 300 1 192.0.2.1",
    }
    assert Publication.objects.count() == 1
    publication = Publication.objects.get()
    assert (publication.channel, publication.author, publication.sequence) == ("import", job.author, job.last_sequence)
    assert Revision.objects.filter(publication=publication, kind="create", number=1).count() == 2
    zone = Zone.objects.get(name="a.test.")
    assert (zone.serial, zone.revision, zone.rrset_count, zone.sequence) == (7, 1, 3, publication.sequence)


def test_zones_that_come_back_by_an_import_begin_above_their_last_serials(make_import: MakeImport) -> None:
    """The rows that the import prepared for the nodes have the file's serial, so they are not used."""
    LastSerial.objects.create(name="a.test.", serial=40)
    job = import_all(make_import(texts("a.test.", "b.test.")))
    assert job.state == State.DONE, job.failure
    assert dict(Zone.objects.values_list("name", "serial")) == {"a.test.": 41, "b.test.": 7}
    assert RRset.objects.get(zone__name="a.test.", type=6).rdata[0].split()[2] == "41"
    assert not PreparedRows.objects.exists()
    again = import_all(make_import(texts("a.test.", "b.test.")))
    assert set(actions(again).values()) == {Action.NOTHING}
    import_all(make_import(texts("c.test.")))
    assert PreparedRows.objects.count() == 1


def test_its_publications_carry_from_where_it_was_started(make_import: MakeImport) -> None:
    with audit.coming_from(audit.Origin("192.0.2.7", "req-1")):
        job = make_import(texts("a.test."))
        work_through(job)
        import_jobs.start_plan(job=job, now=NOW)
    work_through(job)
    with audit.coming_from(audit.Origin("192.0.2.8", "req-2", lambda: "1f3a")):
        import_jobs.start_apply(job=job, author=job_rights.actor_of_job(job), now=NOW)
    work_through(job)
    assert Publication.objects.values_list("address", "request_id", "session").get() == ("192.0.2.8", "req-2", "1f3a")


def test_an_import_needs_no_storage_of_segments(make_import: MakeImport, settings: Any, tmp_path: Path) -> None:
    (tmp_path / "a file").write_text("")
    storage = settings.STORAGES["segments"] | {"OPTIONS": {"location": str(tmp_path / "a file" / "below")}}
    settings.STORAGES = settings.STORAGES | {"segments": storage}
    job = import_all(make_import(texts("a.test.", "b.test.")))
    assert job.state == State.DONE, job.failure
    assert Publication.objects.count() == 1
    assert not PreparedRows.objects.exists()


def test_a_second_identical_import_changes_nothing(make_import: MakeImport) -> None:
    import_all(make_import(texts("a.test.", "b.test.")))
    job = import_all(make_import(texts("a.test.", "b.test.")))
    assert set(actions(job).values()) == {Action.NOTHING}
    assert Publication.objects.count() == 1
    assert job.last_sequence == 0


def test_a_bad_zone_does_not_stop_good_ones(make_import: MakeImport) -> None:
    bad = zone_text("bad.test.", "www 300 A 192.0.2.300")
    job = import_all(make_import({**texts("a.test."), "bad.test.zone": bad}))
    assert actions(job) == {"a.test.": Action.CREATE, "bad.test.": Action.FAILED}
    fault = queries.faults_page(job, severity="error")[0]
    assert (fault.path, fault.line, fault.zone) == ("bad.test.zone", 6, "bad.test.")
    assert "192.0.2.300" in fault.source
    assert not Zone.objects.filter(name="bad.test.").exists()


def test_failed_zones_are_corrected_in_a_job_of_their_own(make_import: MakeImport, alice: User) -> None:
    bad = zone_text("bad.test.", "www 300 A 192.0.2.300")
    job = import_all(make_import({**texts("a.test."), "bad.test.zone": bad}))
    failed = ImportZone.objects.get(job=job, action=Action.FAILED)
    text = queries.zone_text(job, failed)
    assert text == bad
    retry = import_jobs.retry_failed(job=job, texts={failed.pk: bad.replace("300\n", "30\n")}, author=alice, now=NOW)
    assert import_all(retry).state == State.DONE
    assert retry.retry_of == job
    assert "www.bad.test. 300 1 192.0.2.30" in lines_of("bad.test.")


def test_a_union_keeps_all_values_and_what_replaces_counts_those_that_go(make_import: MakeImport) -> None:
    old = [WWW, "old A 192.0.2.8"]
    import_all(make_import({name: zone_text(f"{name}.test.", *old) for name in ("a", "b", "c")}))
    new = "www 300 A 192.0.2.2"
    job = make_import(
        {
            "a": zone_text("a.test.", new),
            "b": zone_text("b.test.", "new A 192.0.2.3"),
            "c": zone_text("c.test.", new),
        }
    )
    work_through(job)
    for name, choice in (("b.test.", "replace"), ("c.test.", "rrsets")):
        row = ImportZone.objects.get(job=job, name=name)
        assert import_jobs.choose(job=job, choice=choice, ids=[row.pk], now=NOW) == 1
    import_all(job)
    assert actions(job) == {"a.test.": Action.UNION, "b.test.": Action.REPLACE, "c.test.": Action.RRSETS}
    addresses = {
        name: next(line for line in lines_of(name) if line.startswith("www.")) for name in ("a.test.", "c.test.")
    }
    assert addresses["a.test."].endswith("192.0.2.1 | 192.0.2.2")
    assert addresses["c.test."].endswith(" 192.0.2.2")
    assert "old.c.test. 3600 1 192.0.2.8" in lines_of("c.test.")
    removed = dict(ImportZone.objects.filter(job=job).values_list("name", "values_removed"))
    assert removed == {"a.test.": 0, "b.test.": 2, "c.test.": 1}
    assert queries.plan_summary(job).values_removed == 3
    assert {line.split()[0] for line in lines_of("a.test.")} == {"a.test.", "www.a.test.", "old.a.test."}
    assert {line.split()[0] for line in lines_of("b.test.")} == {"b.test.", "new.b.test."}
    merged, replaced = (ImportZone.objects.get(job=job, name=name) for name in ("a.test.", "b.test."))
    assert (merged.added, merged.changed, merged.removed) == (0, 1, 0)
    assert (replaced.added, replaced.changed, replaced.removed) == (1, 0, 2)
    assert [Zone.objects.get(name=name).revision for name in ("a.test.", "b.test.")] == [2, 2]
    assert Zone.objects.get(name="a.test.").serial > 7


def test_a_union_that_cannot_be_made_fails_alone_and_says_what_both_have(make_import: MakeImport) -> None:
    import_all(make_import({"a": zone_text("a.test.", "shop CNAME one.example.")}))
    job = import_all(make_import({"a": zone_text("a.test.", "shop CNAME two.example."), "b": zone_text("b.test.")}))
    assert actions(job) == {"a.test.": Action.FAILED, "b.test.": Action.CREATE}
    (fault,) = queries.faults_page(job, severity="error")
    assert (fault.code, fault.reason) == (
        "no-union",
        "CNAME shop.a.test. can only have one value, but the zone has one.example. and the source has two.example.",
    )


def test_who_chose_to_create_a_zone_that_exists_by_now_gets_what_the_options_say(
    make_import: MakeImport, alice: User
) -> None:
    job = work_through(make_import({"a": zone_text("a.test.", WWW)}))
    row = ImportZone.objects.get(job=job)
    import_jobs.choose(job=job, choice="create", ids=[row.pk], now=NOW)
    import_all(make_import({"a": zone_text("a.test.", "old A 192.0.2.8")}))
    import_all(job)
    assert actions(job) == {"a.test.": Action.UNION}


def test_a_union_that_would_break_a_rule_fails_alone(make_import: MakeImport) -> None:
    import_all(make_import(texts("a.test.", "b.test.")))
    job = import_all(
        make_import({"a": zone_text("a.test.", "www CNAME b"), "b": zone_text("b.test.", "new A 192.0.2.4")})
    )
    assert actions(job) == {"a.test.": Action.FAILED, "b.test.": Action.UNION}
    assert "CNAME" in queries.faults_page(job, severity="error")[0].reason


def test_a_signed_zone_is_warned_of_and_refused_where_its_parent_holds_a_ds(make_import: MakeImport) -> None:
    """Previously the import dropped the DNSSEC records, and validating resolvers got no answer. A note said that name
    servers sign. PowerDNS's keys were skipped silently.
    """
    ds = " 3600 DS 1 13 2 " + "00" * 32
    import_all(make_import({"p": zone_text("test.example.", "a NS ns1.other.test.", "a" + ds, "c NS x.y.", "c" + ds)}))
    signature = "@ 300 RRSIG A 13 2 1 20300101000000 20200101000000 1 example. AAAA"
    job = make_import(
        {
            name: zone_text(f"{name}.test.example.", *more)
            for name, more in (("a", [signature]), ("b", [signature]), ("c", []))
        }
        | {"k": zone_text("k.test.example.")}
    )
    unusable = encrypt_secret(b"Private-key-format: v1.2")
    KeptItem.objects.create(job=job, zone="k.test.example.", kind=KeptKind.KEY, name="257 GOST", value=unusable)
    import_all(job)
    found = {zone[0]: action for zone, action in actions(job).items()}
    assert found == {"a": Action.FAILED, "b": Action.CREATE, "c": Action.FAILED, "k": Action.CREATE}
    errors = {fault.zone[0]: fault.reason for fault in queries.faults_page(job, severity="error")}
    assert errors.keys() == {"a", "c"}
    assert errors["a"].startswith("test.example. has a DS for a.test.example.")
    warnings = {fault.zone[0]: fault.code for fault in queries.faults_page(job, severity="warning")}
    assert warnings == {"a": "dnssec-left-out", "b": "dnssec-left-out", "k": "dnssec-keys"}


def test_a_zone_with_a_ds_that_breaks_a_zone_here_is_refused_by_the_dry_run(make_import: MakeImport) -> None:
    import_all(make_import({"c": zone_text("c.test.example.")}))
    cut = ["c NS ns1.other.test.", "c 3600 DS 1 13 2 " + "00" * 32]
    job = import_all(make_import({"p": zone_text("test.example.", *cut)}))
    assert actions(job) == {"test.example.": Action.FAILED}
    [fault] = queries.faults_page(job, severity="error")
    assert fault.reason.startswith("test.example. has a DS for c.test.example., which the panel serves without")
    import_all(make_import({"p": zone_text("test.example.", cut[0])}))
    job = import_all(make_import({"p": zone_text("test.example.", *cut)}))
    assert actions(job) == {"test.example.": Action.FAILED}, "also where the zone is here already"


def test_a_zone_goes_on_with_the_keys_that_it_brings(make_import: MakeImport) -> None:
    pair = key_material.generate(13)
    ds = key_material.ds_text("a.test.example.", 257, 13, pair.public)
    import_all(make_import({"p": zone_text("test.example.", "a NS ns1.other.test.", f"a 3600 DS {ds}")}))
    job = make_import({"a": zone_text("a.test.example."), "b": zone_text("b.test.")})
    value = encrypt_secret(pair.private_text.encode())
    KeptItem.objects.create(job=job, zone="a.test.example.", kind=KeptKind.KEY, name="257 ECDSA", value=value)
    for kind, text in (("NSEC3PARAM", b"1 1 0 -"), ("PUBLISH-CDS", b"2, 4")):
        KeptItem.objects.create(job=job, zone="a.test.example.", kind=KeptKind.METADATA, name=kind, value=text)
    import_all(job)
    assert set(actions(job).values()) == {Action.CREATE}
    zone = Zone.objects.get(name="a.test.example.")
    state = signing.signing_of(zone)
    [key] = signing.keys_of(zone)
    assert state.metadata == {"NSEC3PARAM": "1 1 0 -", "PUBLISH-CDS": "2,4"}
    assert (key.active, key.ds[0]) == (True, ds)
    assert SigningChange.objects.get().revision_number == 1
    assert Zone.objects.get(name="b.test.").sequence == zone.sequence
    assert AuditEntry.objects.get(action="dnssec.import").details == {"zones": 1, "keys": 1}
    assert not signing.signing_of(Zone.objects.get(name="b.test.")).is_signed


def test_skipped_zones_are_left_alone(make_import: MakeImport) -> None:
    import_all(make_import(texts("a.test.")))
    options = Options(new="skip", existing="skip")
    job = import_all(make_import({"a": zone_text("a.test."), "b": zone_text("b.test.")}, options=options))
    assert set(actions(job).values()) == {Action.SKIP}
    assert Publication.objects.count() == 1


def test_a_zone_that_occurs_twice_is_imported_once(make_import: MakeImport) -> None:
    job = import_all(make_import({"one": zone_text("a.test.", WWW), "two": zone_text("a.test.")}))
    rows = ImportZone.objects.filter(job=job).order_by("pk").values_list("path", "action")
    assert list(rows) == [("one", Action.CREATE), ("two", Action.DUPLICATE)]
    fault = queries.faults_page(job)[-1]
    assert fault.code == "zone-twice"
    assert isinstance(fault.reason, Text)
    assert fault.reason.endswith("so this second copy is left out.")
    assert queries.scan_summary(job).duplicates == 1


def test_a_zone_created_by_others_since_the_dry_run_waits(make_import: MakeImport, bob: User) -> None:
    job = make_import(texts("a.test.", "b.test."))
    work_through(job)
    import_jobs.start_plan(job=job, now=NOW)
    work_through(job)
    import_all(make_import({"other": zone_text("a.test.", "mail A 192.0.2.9")}))
    import_jobs.start_apply(job=job, author=job.author, now=NOW)
    work_through(job)
    assert actions(job) == {"a.test.": Action.WAITING, "b.test.": Action.CREATE}
    import_jobs.replan_waiting(job=job, now=NOW)
    work_through(job)
    assert actions(job)["a.test."] == Action.UNION
    import_jobs.start_apply(job=job, author=job.author, now=NOW)
    work_through(job)
    assert {line.split()[0] for line in lines_of("a.test.")} == {"a.test.", "mail.a.test.", "www.a.test."}


def test_zones_to_which_a_publish_hook_says_no_wait(make_import: MakeImport, alice: User, answering: Answering) -> None:
    import_all(make_import(texts("a.test.")))
    job = make_import({"new": zone_text("b.test."), "old": zone_text("a.test.", "new A 192.0.2.3")})
    work_through(job)
    import_jobs.start_plan(job=job, now=NOW)
    work_through(job)
    made = place_publish_hooks.add_hook(
        scope=Scope(), terms=HookTerms(answering.url), reason="Names", author=alice, now=NOW
    )
    answering.secret = made.secret
    answering.refuse("No.")
    answering.refuse("No.")
    import_jobs.start_apply(job=job, author=job.author, now=NOW)
    work_through(job)
    assert actions(job) == {"a.test.": Action.WAITING, "b.test.": Action.WAITING}
    import_jobs.replan_waiting(job=job, now=NOW)
    work_through(job)
    answering.allow()
    answering.allow()
    import_jobs.start_apply(job=job, author=job.author, now=NOW)
    work_through(job)
    assert actions(job) == {"a.test.": Action.UNION, "b.test.": Action.CREATE}
    assert {each["zones"][0]["kind"] for each in answering.questions} == {"create", "change"}
    assert len(answering.received) == 4


def test_a_zone_changed_by_others_since_the_dry_run_waits(make_import: MakeImport, bob: User) -> None:
    import_all(make_import(texts("a.test.", "b.test.")))
    job = make_import({name: zone_text(name, "new A 192.0.2.3") for name in ("a.test.", "b.test.")})
    work_through(job)
    import_jobs.start_plan(job=job, now=NOW)
    work_through(job)
    change("a.test.", "www 60 A 192.0.2.77", bob)
    import_jobs.start_apply(job=job, author=job.author, now=NOW)
    work_through(job)
    assert actions(job) == {"a.test.": Action.WAITING, "b.test.": Action.UNION}
    assert queries.plan_summary(job).waiting == 1


def test_undo_deletes_what_was_created_and_restores_what_was_changed(make_import: MakeImport, alice: User) -> None:
    import_all(make_import(texts("old.test.")))
    before = lines_of("old.test.")
    job = import_all(
        make_import({**texts("new.test."), "old": zone_text("old.test.", "www 60 A 192.0.2.5", "more A 192.0.2.6")})
    )
    assert lines_of("old.test.") != before
    import_jobs.start_undo(job=job, author=alice, now=NOW)
    work_through(job)
    assert job.state == State.UNDONE
    assert lines_of("old.test.") == before
    assert not Zone.objects.filter(name="new.test.", deleted_at=None).exists()
    assert Zone.objects.filter(name="new.test.").exclude(deleted_at=None).exists()
    assert queries.report(job, now=NOW).undone == 2


def test_undo_keeps_what_others_changed_since(make_import: MakeImport, alice: User, bob: User) -> None:
    import_all(make_import(texts("old.test.")))
    job = import_all(
        make_import(
            {**texts("new.test.", "kept.test."), "old": zone_text("old.test.", "www 60 A 192.0.2.5", "x A 192.0.2.6")}
        )
    )
    change("kept.test.", "www 60 A 192.0.2.99", bob)
    change("old.test.", "x 60 A 192.0.2.98", bob)
    import_jobs.start_undo(job=job, author=alice, now=NOW)
    work_through(job)
    undone = dict(ImportZone.objects.filter(job=job).values_list("name", "undone"))
    assert undone == {"new.test.": "undone", "kept.test.": "kept", "old.test.": "kept"}
    assert "x.old.test. 60 1 192.0.2.98" in lines_of("old.test.")
    assert "www.old.test. 300 1 192.0.2.1" in lines_of("old.test.")
    assert queries.report(job, now=NOW).kept_in_undo == 2


def test_an_import_that_is_paused_or_cancelled_stops(make_import: MakeImport) -> None:
    job = make_import(texts("a.test."))
    import_jobs.pause(job=job, now=NOW)
    worker.work_on_import(job.pk)
    assert ImportPiece.objects.get(job=job).state == PieceState.SPOOLED
    import_jobs.resume(job=job, now=NOW)
    work_through(job)
    job.refresh_from_db()
    work_through(job)
    assert job.state == State.CHOOSING
    import_jobs.cancel(job=job, now=NOW)
    job.refresh_from_db()
    assert (job.state, job.ended_at) == (State.CANCELLED, NOW)


def test_a_stage_that_the_disk_lost_is_made_again(make_import: MakeImport) -> None:
    job = make_import(texts("a.test.", "b.test."))
    work_through(job)
    import_jobs.start_plan(job=job, now=NOW)
    work_through(job)
    stage.stage_path(job.pk, 1).write_bytes(b"half of it")
    import_jobs.start_apply(job=job, author=job.author, now=NOW)
    work_through(job)
    assert job.state == State.DONE
    assert "www.b.test. 300 1 192.0.2.1" in lines_of("b.test.")


def test_a_spool_that_is_gone_stops_the_import_with_a_message(make_import: MakeImport) -> None:
    job = make_import(texts("a.test."))
    spool.spool_path(job.pk, 1).unlink()
    work_through(job)
    job.refresh_from_db()
    assert job.paused
    assert "missing from the panel’s disk" in job.failure


def test_rows_that_the_database_refuses_stop_the_import_with_a_reason(
    make_import: MakeImport, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = make_import(texts("a.test."))
    work_through(job)
    import_jobs.start_plan(job=job, now=NOW)
    work_through(job)
    import_jobs.start_apply(job=job, author=job.author, now=NOW)

    def refuse(**arguments: Any) -> None:
        raise IntegrityError("rrset_cname_alone")

    monkeypatch.setattr(apply_piece, "create_ready_zones", refuse)
    with pytest.raises(IntegrityError):
        worker.work_on_import(job.pk)
    job.refresh_from_db()
    assert (job.paused, job.failure) == (True, "rrset_cname_alone")
    monkeypatch.undo()
    import_jobs.resume(job=job, now=NOW)
    job.refresh_from_db()
    assert work_through(job).state == State.DONE


def test_only_so_many_workers_share_an_import(make_import: MakeImport, settings: Any) -> None:
    settings.TRANSFER_PROCESSES = 0
    assert worker.work_on_import(make_import(texts("a.test.")).pk).summary == "enough workers"


@pytest.mark.django_db(transaction=True)
def test_a_piece_that_another_session_has_is_left_to_it(make_import: MakeImport) -> None:
    import psycopg
    from django.db import connection

    job = make_import(texts("a.test."))
    piece = ImportPiece.objects.get(job=job)
    parameters = connection.get_connection_params()
    keys = ("host", "port", "user", "password", "dbname")
    with psycopg.connect(**{key: parameters[key] for key in keys if parameters.get(key)}) as other:
        other.execute("SELECT pg_advisory_lock(%s, %s)", (int(worker.Lock.PIECE), piece.pk))
        assert not worker._do_unit(job)
        other.execute("SELECT pg_advisory_unlock_all()")
        assert worker._do_unit(job)


def queries_made_by(act: Callable[[], object]) -> int:
    from django.test.utils import CaptureQueriesContext

    with CaptureQueriesContext(connection) as captured:
        act()
    return len(captured)


def test_reading_progress_costs_one_query_however_many_zones(make_import: MakeImport) -> None:
    job = import_all(make_import(texts(*(f"z{number}.test." for number in range(30)))))
    assert queries_made_by(lambda: queries.progress(job, now=NOW)) == 1


def test_zones_without_apex_records_get_ours_or_keep_their_own(make_import: MakeImport) -> None:
    import_all(make_import(texts("old.test.")))
    before = lines_of("old.test.")
    hosts = {name: f"$ORIGIN {name}\nmail 300 A 192.0.2.9\n" for name in ("old.test.", "new.test.")}
    options = Options(soa="missing", nameservers="missing")
    job = import_all(make_import(hosts, options=options))
    assert actions(job) == {"old.test.": Action.UNION, "new.test.": Action.CREATE}
    assert lines_of("old.test.") == before | {"mail.old.test. 300 1 192.0.2.9"}
    assert {line.split()[2] for line in lines_of("new.test.")} == {"1", "2"}


def test_new_zones_follow_the_default_set_where_their_name_servers_are_ours(make_import: MakeImport) -> None:
    made = make_set("Other", OTHER)
    hosts = {"new.test.": "$ORIGIN new.test.\nmail 300 A 192.0.2.9\n", **texts("own.test.")}
    job = make_import(hosts, options=Options(soa="missing", nameservers="missing"))
    edit_template.publish_version(template=made, content=server_set_text.content_of(HOUSE), seen=1, by=None, now=NOW)
    import_all(job)
    assert apex("new.test.") == (OTHER.names, "a.other.test.", "dns.other.test.")
    assert apex("own.test.")[0] != OTHER.names
    assert list(TemplateLink.objects.values_list("zone__name", "template", "version")) == [("new.test.", made.pk, 1)]
    again = make_import({"more.test.": "$ORIGIN more.test.\nmail 300 A 192.0.2.9\n"})
    import_jobs.set_options(job=_scanned(again), options=Options(soa="ours", nameservers="ours"), now=NOW)
    import_all(again)
    assert apex("more.test.")[0] == HOUSE.names


def _scanned(job: ImportJob) -> ImportJob:
    work_through(job)
    job.refresh_from_db()
    return job


def about_to_apply(job: ImportJob) -> ImportJob:
    work_through(job)
    import_jobs.start_plan(job=job, now=NOW)
    work_through(job)
    import_jobs.start_apply(job=job, author=job_rights.actor_of_job(job), now=NOW)
    return job


def test_while_publishing_is_on_hold_an_import_waits_at_its_place_and_goes_on_afterwards(
    make_import: MakeImport,
) -> None:
    job = about_to_apply(make_import(texts("a.test.", "b.test.")))
    publish_hold.hold(reason="ns1 knows more.", now=NOW)
    turn = worker.work_on_import(job.pk)
    assert (turn.again, "waits while publishing is held" in turn.summary) == (False, True)
    assert worker.active_imports() == []
    job.refresh_from_db()
    assert (job.state, job.paused, job.failure) == (State.APPLYING, False, "")
    assert not Zone.objects.exists()
    publish_hold.release()
    assert worker.active_imports() == [job.pk]
    work_through(job)
    job.refresh_from_db()
    assert (job.state, Zone.objects.count()) == (State.DONE, 2)


def test_a_hold_that_begins_while_a_piece_is_applied_leaves_the_piece_as_it_was(
    make_import: MakeImport, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = about_to_apply(make_import(texts("a.test.")))
    real = apply_piece.apply_piece

    def refuse_to_publish(**how: Any) -> bool:
        publish_hold.hold(reason="ns1 knows more.", now=NOW)
        return real(**how)

    monkeypatch.setattr(apply_piece, "apply_piece", refuse_to_publish)
    assert "held" in worker.work_on_import(job.pk).summary
    monkeypatch.undo()
    assert not Zone.objects.exists()
    publish_hold.release()
    work_through(job)
    job.refresh_from_db()
    assert (job.state, Zone.objects.count()) == (State.DONE, 1)


@pytest.mark.django_db(transaction=True)
def test_zones_that_were_taken_back_are_failed_ones(make_import: MakeImport) -> None:
    # Previously an import said "Done, answered by 4/4 nodes" about a zone in the trash, which the canary had refused.
    import_all(make_import(texts("old.test.")))
    job = import_all(
        make_import({"a.zone": zone_text("a.test.", WWW), "old.zone": zone_text("old.test.", "mail 300 A 192.0.2.5")})
    )
    piece = ImportPiece.objects.get(job=job)
    assert queries.report(job, now=NOW).published == 2
    assert piece.created_in is not None
    assert piece.changed_in is not None
    take_back(piece.created_in)
    report = queries.report(job, now=NOW)
    assert (report.published, report.plan.failed, report.plan.creates, report.plan.unions) == (1, 1, 0, 1)
    [fault] = queries.faults_page(job, severity="error")
    assert (fault.zone, fault.code, fault.path) == ("a.test.", "taken-back", "a.zone")
    assert str(fault.reason).endswith(REASON)
    take_back(piece.changed_in)
    assert (queries.report(job, now=NOW).published, actions(job)) == (0, {"a.test.": "failed", "old.test.": "failed"})
    assert queries.jobs_page(job.author)[0].errors == 2
    assert {fault.code for fault in queries.fault_kinds(job)} == {"taken-back"}
    assert Zone.objects.get(name="a.test.").deleted_at is not None
