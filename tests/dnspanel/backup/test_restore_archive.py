"""Tests of backup, restore and drill with PostgreSQL's programs, in separate databases."""

import base64
import io
import secrets
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from django.contrib.sessions.models import Session as DjangoSession
from django.core.cache import cache
from django.core.management import CommandError, call_command
from django.db.migrations.loader import MigrationLoader
from psycopg import sql

from dnspanel.accounts.actors.actors import Permission
from dnspanel.accounts.models import Invitation, Role, Session, User
from dnspanel.accounts.secrets.vault import decrypt_secret
from dnspanel.accounts.tokens.token_terms import TokenTerms
from dnspanel.accounts.tokens.tokens import create_token
from dnspanel.api.models import RememberedAnswer
from dnspanel.backup import backup_contents, make
from dnspanel.backup.backup_archive import read_archive
from dnspanel.backup.drill import drill
from dnspanel.backup.errors import ProgramFailed
from dnspanel.backup.make import back_up_to_file
from dnspanel.backup.models import Backup
from dnspanel.backup.programs import Target, panel_database, run
from dnspanel.backup.restore_archive import replace_database
from dnspanel.fleet.models import EnrolmentCode, Node
from dnspanel.fleet.nodes.heartbeats import DRILL, heartbeats
from dnspanel.gateway.models import TakenMessage
from dnspanel.publish.encoding.encode import encode_step
from dnspanel.publish.keys.segment_signing import ensure_signing_key
from dnspanel.zones.acting import Acting
from dnspanel.zones.dnssec import key_material
from dnspanel.zones.models import Channel, CountingNode, QueriedRRset, Zone, ZoneKey
from dnspanel.zones.signing import sign
from replication.message_texts import parse_text
from tests.dnspanel.fleet.conftest import active_node as active_node
from tests.dnspanel.publish.conftest import interpreter as interpreter
from tests.dnspanel.publish.conftest import publisher_directory as publisher_directory
from tests.dnspanel.zones.conftest import MakeZone
from tests.dnspanel.zones.conftest import make_zone as make_zone
from tests.docs.runbooks import command_lines_of
from tests.interpreter import Ended, Interpreter
from tests.people import NOW
from tests.people import alice as alice

pytestmark = pytest.mark.django_db(transaction=True)
Manage = Callable[..., Ended]


@pytest.fixture
def archive(make_zone: MakeZone, tmp_path: Path) -> Path:
    """Create a backup of a panel with three zones, segments and a signing key. Return its path."""
    for name in ("one.test.", "two.test.", "three.test."):
        make_zone("www 300 A 192.0.2.1", name=name)
    ensure_signing_key(now=NOW)
    while encode_step(now=NOW):
        pass
    path = tmp_path / "panel.tar"
    back_up_to_file(path=path, now=NOW)
    return path


@pytest.fixture
def elsewhere() -> Iterator[Target]:
    """Create an empty database, as on a new machine."""
    target = panel_database().with_name(f"elsewhere_{secrets.token_hex(4)}")
    with psycopg.connect(**panel_database().parameters, autocommit=True) as conn:  # type: ignore[arg-type]
        conn.execute(sql.SQL("CREATE DATABASE {} TEMPLATE template0").format(sql.Identifier(target.name)))
        yield target
        conn.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(target.name)))


@pytest.fixture
def manage(elsewhere: Target, interpreter: Interpreter) -> Manage:
    """Return a function that runs a manage.py command with the new machine's database."""

    def run(*arguments: str, master_key: str = "") -> Ended:
        return interpreter.run("restored_panel.manage", elsewhere.name, master_key, *arguments)

    return run


def rows(target: Target, query: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(**target.parameters) as conn:  # type: ignore[arg-type]
        return conn.execute(query).fetchall()  # type: ignore[arg-type]


def test_a_backup_comes_back_on_another_machine_and_is_held(archive: Path, elsewhere: Target, manage: Manage) -> None:
    done = manage("restore", str(archive))
    assert done.status == 0, done.err
    assert "Publishing is on hold" in done.out
    assert rows(elsewhere, "SELECT name FROM zones_zone ORDER BY name") == [
        ("one.test.",),
        ("three.test.",),
        ("two.test.",),
    ]
    ((reason, since),) = rows(elsewhere, "SELECT held_reason, held_since FROM zones_loghead")
    assert parse_text(reason) == "The database was restored from the 2026-11-21 12:00 UTC backup (change 3)."
    assert since is not None
    with psycopg.connect(**elsewhere.parameters) as conn:  # type: ignore[arg-type]
        assert [finding.found for finding in backup_contents.consistency(conn)] == [""] * 5


def test_the_commands_of_the_runbook_move_a_panel(
    make_zone: MakeZone, elsewhere: Target, manage: Manage, tmp_path: Path
) -> None:
    """`scp` and `audit`, which asks nodes, don't run here. `test_restored_panel` restores a whole stack."""
    make_zone("www 300 A 192.0.2.1", name="moved.test.")
    ensure_signing_key(now=NOW)
    back_up, copy, restore, check = command_lines_of("move-the-panel", "Without the package")
    assert copy.startswith("scp ")
    assert command_lines_of("move-the-panel", "Check the result") == ["manage.py audit"]
    call_command(*back_up.replace("/tmp/", f"{tmp_path}/").split()[1:])
    done = manage(*restore.replace("/tmp/", f"{tmp_path}/").split()[1:])
    assert done.status == 0, done.err
    assert "Publishing is on hold" in done.out
    checked = manage(*check.split()[1:])
    assert checked.status == 0, checked.err
    assert rows(elsewhere, "SELECT name FROM zones_zone") == [("moved.test.",)]


def test_an_archive_has_no_private_key_in_clear(make_zone: MakeZone, tmp_path: Path) -> None:
    """The log and all tables have no private key of created, imported or deleted keys: neither as text nor as bytes or
    hexadecimal digits.
    """
    acting = Acting(None, Channel.SYSTEM, NOW)
    texts = []
    for number, algorithm in enumerate((13, 15, 8)):
        zone = make_zone("www 300 A 192.0.2.1", name=f"signed{number}.test.")
        sign.sign(zones=[zone], acting=acting, algorithm=algorithm)
        pair = key_material.generate(algorithm)
        brought = sign.add_key(zone=zone, acting=acting, texts=sign.KeyTexts(pair.private_text))
        sign.delete_key(zone=zone, key_id=brought.pk, acting=acting)
    ensure_signing_key(now=NOW)
    while encode_step(now=NOW):
        pass
    for key in ZoneKey.objects.all():
        assert key.private_encrypted is not None
        texts.append(decrypt_secret(key.private_encrypted).decode())
    path, dump = tmp_path / "panel.tar", tmp_path / "dump"
    back_up_to_file(path=path, now=NOW)
    with path.open("rb") as file:
        read_archive(file, dump)
    plain = tmp_path / "plain.sql"
    with plain.open("wb") as written:
        run("pg_restore", ["--file=-", str(dump)], panel_database(), stdout=written)
    places = {"archive": path.read_bytes(), "dump": plain.read_bytes()}
    assert len(texts) == 6
    for key in ZoneKey.objects.all():  # the dump has public data, so the search is able to find something
        assert bytes(key.public).hex().encode() in places["dump"]
    for name, content in places.items():
        for form in {form for text in texts for form in forms_of_secrets(text)}:
            assert form not in content, name


def forms_of_secrets(private_text: str) -> Iterator[bytes]:
    """Yield the secret numbers of a private key in each form that a table could store."""
    for line in private_text.splitlines():
        word, _, digits = line.partition(": ")
        if word.startswith(("Private", "Prime", "Exponent", "Coefficient")) and word != "Private-key-format":
            number = base64.b64decode(digits)
            for form in (digits.encode(), base64.urlsafe_b64encode(number), number, number.lstrip(b"\0")):
                # Unchanged, in hexadecimal, in Base64 again, and only the start, because a dump may wrap lines.
                for found in (form, form.hex().encode(), form.hex().upper().encode(), base64.b64encode(form)):
                    yield found[:24]


def test_nobody_is_signed_in_or_let_in_by_an_archive(
    make_zone: MakeZone, active_node: Any, alice: User, elsewhere: Target, manage: Manage, tmp_path: Path
) -> None:
    """An archive of an earlier release has sessions, invitations and codes. A restore must not bring them back."""
    path = tmp_path / "panel.tar"
    fill_left_out(alice, active_node("ns1"))
    filled = "SELECT EXISTS (SELECT FROM {})"
    for left_out, dumped in (((), True), (backup_contents.LEFT_OUT, False)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(backup_contents, "LEFT_OUT", left_out)
            back_up_to_file(path=path, now=NOW)
        with path.open("rb") as file:
            read_archive(file, tmp_path / "dump")
        replace_database(target=elsewhere, dump=tmp_path / "dump")
        assert {rows(elsewhere, filled.format(table))[0][0] for table in backup_contents.LEFT_OUT} == {dumped}
        if dumped:
            assert manage("restore", "--replace", str(path)).status == 0
            assert {rows(elsewhere, filled.format(table))[0][0] for table in backup_contents.LEFT_OUT} == {False}


def fill_left_out(alice: User, node: Node) -> None:
    """Create a row in each table that backups leave out."""
    token = create_token(
        owner=alice, terms=TokenTerms("CI", permissions=frozenset({Permission.AUDIT})), by=alice, now=NOW
    ).token
    for sessions in (Session, DjangoSession):  # the former and the present table
        sessions.objects.create(session_key="key", session_data="data", expire_date=NOW)
    cache.set("sign-ins", 3)
    Invitation.objects.create(secret_sha256=b"1", role=Role.READER, created_at=NOW, expires_at=NOW)
    EnrolmentCode.objects.create(secret_sha256=b"2", node=node, created_at=NOW, expires_at=NOW)
    RememberedAnswer.objects.create(token=token, key="k", request_sha256=b"3", at=NOW)
    TakenMessage.objects.create(id=uuid4(), until=NOW)
    QueriedRRset.objects.create(zone_id=1, owner_key=b"www\0", type=1, day=NOW.date(), times=1)
    CountingNode.objects.create(node_id=node.pk, name=node.name, since=NOW, until=NOW)


def test_what_is_there_is_replaced_only_when_somebody_gave_it_up(
    archive: Path, elsewhere: Target, manage: Manage
) -> None:
    assert manage("migrate", "--verbosity=0").status == 0
    refused = manage("restore", str(archive))
    assert refused.status == 1
    assert "--replace" in refused.err
    assert rows(elsewhere, "SELECT count(*) FROM zones_zone") == [(0,)]
    assert manage("restore", "--replace", str(archive)).status == 0
    assert rows(elsewhere, "SELECT count(*) FROM zones_zone") == [(3,)]


def test_a_restore_while_the_panel_runs_is_refused(archive: Path, elsewhere: Target, manage: Manage) -> None:
    with psycopg.connect(**elsewhere.parameters, application_name="a panel"):  # type: ignore[arg-type]
        refused = manage("restore", str(archive))
    assert refused.status == 1
    assert "in use by a panel (1 connections). Stop the panel first." in refused.err


def test_a_damaged_archive_and_a_wrong_key_change_nothing(
    archive: Path, elsewhere: Target, manage: Manage, tmp_path: Path
) -> None:
    damaged = bytearray(archive.read_bytes())
    damaged[len(damaged) // 2] ^= 1
    (tmp_path / "damaged.tar").write_bytes(damaged)
    assert "SHA-256" in manage("restore", str(tmp_path / "damaged.tar")).err
    other = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="
    assert "a different PANEL_MASTER_KEY" in manage("restore", str(archive), master_key=other).err
    assert rows(elsewhere, "SELECT count(*) FROM information_schema.tables WHERE table_schema = 'public'") == [(0,)]


def test_a_panel_with_another_key_does_not_start_on_a_restored_database(archive: Path, manage: Manage) -> None:
    """This happens if a user restores another panel's dump with PostgreSQL's programs."""
    assert manage("restore", str(archive)).status == 0
    refused = manage("check", master_key="AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=")
    assert refused.status != 0
    assert "dnspanel.E017" in refused.err
    assert "restored from another panel's backup" in refused.err


def test_a_restore_that_fails_leaves_the_database_as_it_was(
    archive: Path, elsewhere: Target, manage: Manage, tmp_path: Path
) -> None:
    assert manage("migrate", "--verbosity=0").status == 0
    dump = tmp_path / "dump"
    with archive.open("rb") as file:
        read_archive(file, dump)
    with pytest.raises(ProgramFailed):
        replace_database(target=elsewhere, dump=dump, after="SELECT no_such_function();")
    assert rows(elsewhere, "SELECT count(*) FROM zones_zone") == [(0,)]
    assert rows(elsewhere, "SELECT count(*) FROM zones_loghead") == [(1,)]
    dump.write_bytes(dump.read_bytes()[:-2000])
    with pytest.raises(ProgramFailed):
        replace_database(target=elsewhere, dump=dump)
    assert rows(elsewhere, "SELECT count(*) FROM zones_loghead") == [(1,)]


def test_a_drill_proves_the_archive_and_leaves_nothing_behind(archive: Path) -> None:
    with archive.open("rb") as file:
        findings = list(drill(file=file, now=NOW))
    assert [finding.what for finding in findings if not finding.is_well] == []
    assert "its zones compile to what schema 4 serves at change 3" in [finding.what for finding in findings]
    assert "PANEL_MASTER_KEY decrypts all secrets (1)" in [finding.what for finding in findings]
    assert rows(panel_database(), "SELECT datname FROM pg_database WHERE datname LIKE 'test_panel%_drill_%'") == []


def test_the_last_drill_without_a_fault_is_remembered(archive: Path) -> None:
    assert DRILL not in heartbeats()
    call_command("backup_drill", str(archive))
    assert DRILL in heartbeats()


def test_a_drill_finds_what_a_dump_cannot_see(
    archive: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # Someone changed this record in PostgreSQL by hand, without a publication.
    from dnspanel.zones.models import RRset

    RRset.objects.filter(name="www.two.test.").update(ttl=77)
    Zone.objects.filter(name="one.test.").update(serial=99)
    back_up_to_file(path=tmp_path / "second.tar", now=NOW)
    with pytest.raises(CommandError, match="2 checks failed"):
        call_command("backup_drill", str(tmp_path / "second.tar"))
    output = capsys.readouterr().out
    assert DRILL not in heartbeats()
    assert "FAILED  every zone is at its last revision and serial: one.test." in output
    assert "FAILED  its zones compile to what schema 4 serves" in output


def test_the_last_backup_is_remembered(archive: Path) -> None:
    last = Backup.objects.get()
    assert (last.at, last.sequence, last.file) == (NOW, 3, "panel.tar")


def test_a_backup_that_fails_leaves_the_one_before(archive: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = archive.read_bytes()
    monkeypatch.setattr(make, "run", lambda *_: (_ for _ in ()).throw(ProgramFailed("pg_dump", "the disk is full")))
    with pytest.raises(ProgramFailed):
        back_up_to_file(path=archive, now=NOW)
    assert archive.read_bytes() == before
    assert [path.name for path in archive.parent.iterdir() if "backup" in path.name or "partial" in path.name] == []


def test_a_backup_goes_through_a_pipe(archive: Path, tmp_path: Path) -> None:
    from dnspanel.backup.make import back_up

    file = io.BytesIO()
    manifest = back_up(file=file, beside=None, now=NOW)
    found = read_archive(io.BytesIO(file.getvalue()), tmp_path / "dump")
    assert found == manifest
    assert found.counts["zones"] == 3


def test_an_archive_of_another_age_is_refused(archive: Path, tmp_path: Path) -> None:
    from dataclasses import replace

    from dnspanel.backup.errors import BadArchive
    from dnspanel.backup.restore_archive import refuse_other_age

    def with_zones(*names: str) -> None:
        refuse_other_age(replace(manifest, migrations={**manifest.migrations, "zones": names}))

    with archive.open("rb") as file:
        manifest = read_archive(file, tmp_path / "dump")
    refuse_other_age(manifest)
    names = manifest.migrations["zones"]
    with pytest.raises(BadArchive, match=r"newer panel .*zones\.9999_from_the_future"):
        with_zones(*names, "9999_from_the_future")
    replaced = [name for _, name in MigrationLoader(None).disk_migrations["zones", "0001_tables"].replaces]
    later = [name for name in names if name != "0001_tables" and name not in replaced]
    with_zones(*replaced, *later)
    with pytest.raises(BadArchive, match="too old"):
        with_zones(*replaced[:-1])
