"""Tests of `dnspanel export` for missing zones, of dry runs of `import`, and of encrypted keys in both.

Tests `cli.passphrase` too. The flow tests cover the other uses of both commands.
"""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.utils import timezone

from dnspanel.accounts.actors.actors import Grant, Permission, Right
from dnspanel.accounts.models import Role
from dnspanel.accounts.tokens.token_terms import TokenTerms
from dnspanel.accounts.tokens.tokens import create_token
from dnspanel.transfer.exports import export_jobs
from dnspanel.transfer.imports import worker
from dnspanel.transfer.models import ExportJob, ImportJob
from dnspanel.transfer.signals import work_to_do
from dnspanel.zones.acting import Acting
from dnspanel.zones.dnssec import queries
from dnspanel.zones.models import Zone
from dnspanel.zones.publishing import edit
from dnspanel.zones.signing import sign
from tests.dnspanel.cli.conftest import Run
from tests.dnspanel.zones.conftest import zone_maker
from tests.people import NOW, make_person

pytestmark = pytest.mark.django_db(transaction=True)

PASSPHRASE = "a long passphrase"


@pytest.fixture(autouse=True)
def working(settings: Any, tmp_path: Path) -> Iterator[None]:
    """Execute jobs as soon as they are created, in the server's thread."""
    settings.TRANSFER_DIR = tmp_path / "transfer"

    def work(sender: type, job_id: int, **_: Any) -> None:
        if sender is ExportJob:
            export_jobs.run_export(job_id)
        elif sender is ImportJob:
            worker.read_import(job_id)
            worker.work_on_import(job_id)

    work_to_do.connect(work)
    yield
    work_to_do.disconnect(work)


@pytest.fixture
def administrator(transactional_db: None) -> str:
    """Return an administrator's token with every permission, including the export of keys."""
    ada = make_person("ada", Role.ADMINISTRATOR)
    scope = (Grant(frozenset(Right), everywhere=True),)
    terms = TokenTerms(purpose="keys", scope=scope, permissions=frozenset(Permission))
    return create_token(owner=ada, terms=terms, by=ada, now=timezone.now()).secret


def test_keys_go_out_and_come_back(run: Run, erin: Any, administrator: str, tmp_path: Path) -> None:
    zone = zone_maker(erin)("www 300 A 192.0.2.1", name="exported.test.")
    sign.sign(zones=[zone], acting=Acting(erin, "api", NOW))
    [before] = queries.keys_of(zone)
    secret, file = tmp_path / "passphrase", tmp_path / "all.jsonl.gz"
    secret.write_text(PASSPHRASE + "\n")
    told = ("--format", "json", "--keys-passphrase-file", str(secret))

    refused = run("export", "--all", *told, "-o", str(file))
    assert (refused.code, "private keys for the zone exported.test" in refused.err) == (1, True)
    done = run("export", "--all", *told, "-o", str(file), token=administrator)
    assert done.code == 0, done.err
    assert "keys" in done.out
    assert PASSPHRASE not in done.out + done.err
    [line] = gzip.decompress(file.read_bytes()).splitlines()
    assert "sealed" in json.loads(line)["dnssec"]["keys"][0]
    on_screen = run(
        "export",
        "exported.test",
        "--format",
        "json",
        "--keys-passphrase-file",
        "-",
        token=administrator,
        input=PASSPHRASE,
    )
    assert "sealed" in json.loads(on_screen.out)["dnssec"]["keys"][0]

    edit.delete_zone(zone=zone, acting=Acting(None, "api", NOW))
    back = ("import", str(file), "--source", "json", "--apply")
    done = run(*back, "--keys-passphrase-file", str(secret))
    assert done.code == 0, done.err
    [after] = queries.keys_of(Zone.objects.get(name=zone.name, deleted_at=None))
    assert after.dnskey == before.dnskey


def test_a_named_zone_that_does_not_exist_is_not_left_out(run: Run, erin: Any, tmp_path: Path) -> None:
    zone_maker(erin)("www 300 A 192.0.2.1", name="exported.test.")
    file = tmp_path / "zones.tar.gz"
    refused = run("export", "exported.test", "nowhere.test", "-o", str(file))
    assert (refused.code, file.exists()) == (1, False)
    assert "Zone not found: nowhere.test" in refused.err
    assert run("export", "exported.test", "EXPORTED.test.", "-o", str(file)).code == 0


def test_a_dry_run_of_an_import_says_where_the_changes_are(run: Run, panel: str, erin: Any, tmp_path: Path) -> None:
    zone_maker(erin)("www 300 A 192.0.2.1", name="imported.test.")
    file = tmp_path / "imported.test.zone"
    assert run("export", "imported.test", "-o", str(file)).code == 0
    file.write_text(file.read_text().replace("192.0.2.1", "192.0.2.2"))
    planned = run("import", str(file), "--existing", "replace")
    assert planned.code == 0, planned.err
    number = ImportJob.objects.get().pk
    assert f"To see the changes of each zone: {panel}/imports/{number}/\n" in planned.err


def test_a_passphrase_is_one_line_and_for_json(run: Run, erin: Any, tmp_path: Path) -> None:
    secret = tmp_path / "passphrase"
    secret.write_text(PASSPHRASE)
    file = ("--keys-passphrase-file", str(secret))
    assert "needs --format json" in run("export", "--all", *file).err
    assert "needs --source json" in run("import", str(secret), *file).err
    secret.write_text("two\nlines")
    refused = run("export", "--all", "--format", "json", *file)
    assert (refused.code, "as one line" in refused.err) == (2, True)
    secret.write_bytes(b"\xff" * 20)
    assert run("export", "--all", "--format", "json", *file).code == 2
    assert run("export", "--all", "--format", "json", "--keys-passphrase-file", str(tmp_path / "no")).code == 2
