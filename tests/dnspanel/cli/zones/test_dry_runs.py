"""Tests of `--dry-run` for every command that publishes: it shows the effect, without questions or writes."""

from pathlib import Path

import pytest

from dnspanel.api.v2.schema.document import document
from dnspanel.cli.commands import dnspanel
from dnspanel.zones.models import Publication, Zone
from tests.dnspanel.cli.conftest import Run
from tests.dnspanel.cli.in_process import run_command
from tests.dnspanel.cli.test_client import Server, server
from tests.dnspanel.cli.test_main import ALL, commands

__all__ = ["server"]

ZONE = "example.test"
# Commands whose dry run is a job or another request, or that publish the result of an earlier dry run.
OTHERWISE = {
    "apply",
    "export",
    "import",
    "nodes drain",
    "templates run",
}
# The commands for each operation that has a dry run.
COMMANDS = {
    "actOnImport": {"imports apply", "imports undo"},
    "actOnRRsets": {"records change"},
    "actOnRequest": {"requests publish"},
    "actOnZones": {"zones change"},
    "applyTemplate": {"templates apply"},
    "cancelRollover": {"dnssec rollover cancel"},
    "changeDnssecKey": {"dnssec key set"},
    "changeDnssecOfZones": {"dnssec sign", "dnssec unsign"},
    "changeRRset": {"records add", "records remove", "records note"},
    "changeRRsets": {"records delete"},
    "changeZoneDnssec": {"dnssec cds", "dnssec denial", "dnssec signalling"},
    "cloneZone": {"zones clone"},
    "createDnssecKey": {"dnssec key add", "dnssec key import"},
    "createRollover": {"dnssec rollover begin"},
    "createZone": {"zones create"},
    "deleteDnssecKey": {"dnssec key delete"},
    "deleteZones": {"zones delete"},
    "publishDraft": {"drafts publish"},
    "publishNamedDraft": {"drafts publish"},
    "restoreRevision": {"zones revert"},
    "restoreZones": {"zones restore"},
    "setRRset": {"records set"},
    "undoPublication": {"undo", "publications undo"},
    "undoRevision": {"zones undo"},
}
# Operations that set up other servers and signers, with `dnspanel api` and `?dry_run=true`.
BY_API = {
    "createCatalog",
    "createOtherKey",
    "createProducedCatalog",
    "createTransferredZone",
    "deleteCatalog",
    "deleteOtherKey",
    "deleteProducedCatalog",
    "deleteVanityAddresses",
    "giveBackZone",
    "setVanityAddresses",
    "setZonePrimaries",
    "takeOverZone",
}
# Operations without a command except `api`. Another operation of the list does the same.
ELSEWHERE = {
    "changeRRsetsInZones": "changeRRsets",
    "changeZone": "actOnZones",
    "deleteRRset": "changeRRsets",
    "deleteZone": "deleteZones",
    "restoreZone": "restoreZones",
}


def test_every_command_that_waits_for_its_publication_has_a_dry_run() -> None:
    missing = set()
    for words, command in commands(dnspanel):
        options = {option for parameter in command.params for option in parameter.opts}
        if "--wait" in options and "--dry-run" not in options:
            missing.add(" ".join(words))
    assert missing - OTHERWISE == set()


@pytest.fixture
def zone(run: Run) -> None:
    assert run("zones", "create", ZONE).code == 0
    assert run("records", "set", ZONE, "www", "A", "192.0.2.1", "--ttl", "300").code == 0


@pytest.mark.usefixtures("zone")
@pytest.mark.parametrize(
    ("command", "effect"),
    [
        ("zones create new.test --nameserver ns1.panel.test.", "new.test.: create"),
        (f"zones clone {ZONE} copy.test", "+ www.copy.test. 300 A 192.0.2.1"),
        (f"zones delete {ZONE}", f"- www.{ZONE}. 300 A 192.0.2.1"),
        (f"zones undo {ZONE} 2", f"- www.{ZONE}. 300 A 192.0.2.1"),
        (f"zones revert {ZONE} 1", f"- www.{ZONE}. 300 A 192.0.2.1"),
        ("undo 2", f"- www.{ZONE}. 300 A 192.0.2.1"),
        (f"records set {ZONE} www A 192.0.2.7", f"+ www.{ZONE}. 300 A 192.0.2.7"),
        (f"records add {ZONE} www A 192.0.2.7", f"+ www.{ZONE}. 300 A 192.0.2.7"),
        (f"records remove {ZONE} www A 192.0.2.1", f"- www.{ZONE}. 300 A 192.0.2.1"),
        (f"records delete {ZONE} www A", f"- www.{ZONE}. 300 A 192.0.2.1"),
        (f"records note {ZONE} www A --comment rack", ""),
        (f"dnssec sign {ZONE}", ""),
        (f"dnssec key add {ZONE} --inactive", ""),
    ],
)
def test_a_dry_run_shows_the_effect_and_writes_nothing(run: Run, command: str, effect: str) -> None:
    ran = run(*command.split(), "--dry-run")
    assert (ran.code, ran.err.splitlines()[-1]) == (0, "Nothing was written.")
    assert effect in ran.out
    assert Publication.objects.count() == 2
    assert Zone.objects.filter(deleted_at=None).count() == 1


@pytest.mark.usefixtures("zone")
def test_a_draft_is_shown_and_stays(run: Run) -> None:
    assert run("drafts", "set", ZONE, "mail", "A", "192.0.2.9", "--ttl", "60").code == 0
    ran = run("drafts", "publish", "--dry-run")
    assert (ran.code, ran.err.splitlines()[-1]) == (0, "Nothing was written.")
    assert f"+ mail.{ZONE}. 60 A 192.0.2.9" in ran.out
    assert Publication.objects.count() == 2
    assert run("drafts", "show").out == ran.out


def test_a_dry_run_asks_no_question(run: Run, zone: None) -> None:
    assert run("dnssec", "sign", ZONE).code == 0
    number = run("dnssec", "keys", ZONE, "--output", "json").json[0]["id"]
    before = Publication.objects.count()
    for command in (
        f"zones delete {ZONE}",
        f"dnssec unsign {ZONE}",
        f"dnssec cds {ZONE} delete",
        f"dnssec rollover begin {ZONE} csk --emergency",
        f"dnssec key set {ZONE} {number} --published",
    ):
        ran = run(*command.split(), "--dry-run", "--output", "json")
        assert (command, ran.code, bool(ran.json)) == (command, 0, True)
    assert Publication.objects.count() == before


def test_a_job_is_not_undone_as_a_dry_run(run: Run) -> None:
    assert run("zones", "change", "--undo", "1", "--dry-run").code == 2


def operations_with_a_dry_run() -> set[str]:
    """Return the ids of the operations with the parameter `dry_run`."""
    return {
        operation["operationId"]
        for operations in document()["paths"].values()
        for operation in operations.values()
        if any(each["name"] == "dry_run" for each in operation.get("parameters", ()))
    }


def test_each_operation_with_a_dry_run_has_a_command_with_one() -> None:
    assert operations_with_a_dry_run() == COMMANDS.keys() | ELSEWHERE.keys() | BY_API
    without = {
        words
        for each in COMMANDS.values()
        for words in each
        if not any("--dry-run" in parameter.opts for parameter in ALL[tuple(words.split())].params)
    }
    assert without == set()


@pytest.mark.usefixtures("zone")
def test_a_request_is_not_published(run: Run) -> None:
    assert run("drafts", "set", ZONE, "mail", "A", "192.0.2.9", "--ttl", "60").code == 0
    key = run("requests", "ask", "Mail", "--zone", ZONE, "--output", "json").json["key"]
    ran = run("requests", "publish", key, "--dry-run")
    assert (ran.code, ran.err.splitlines()[-1]) == (0, "Nothing was written."), ran
    assert f"+ mail.{ZONE}. 60 A 192.0.2.9" in ran.out
    assert run("requests", "show", key, "--output", "json").json["state"] == "open"
    assert Publication.objects.count() == 2


@pytest.mark.parametrize("act", ["apply", "undo"])
def test_an_import_is_neither_published_nor_undone(server: Server, tmp_path: Path, act: str) -> None:
    progress = {"zones": 1, "records": 5, "applied": 0}
    job = {"id": 7, "title": "Old zones", "state": "applying", "plan": {"removed": 3}, "progress": progress}
    server.say(200, {**job, "reasons": ["1 zone would lose much."]})
    told = {"DNSPANEL_URL": server.url, "DNSPANEL_TOKEN": "dnsp_x"}
    ran = run_command("imports", act, "7", "--dry-run", environment=told, home=tmp_path)
    assert (ran.code, "Old zones" in ran.out) == (0, True), ran
    assert ran.err.splitlines() == ["Needs --confirm: 1 zone would lose much.", "Nothing was written."]
    assert [(method, path) for method, path, *_ in server.requests] == [
        ("POST", f"/api/v2/imports/7/{act}?dry_run=true")
    ]
