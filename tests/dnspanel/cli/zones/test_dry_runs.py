"""`--dry-run` of every command that publishes: it shows the effect, asks nothing and writes nothing."""

import pytest

from dnspanel.accounts.models import User
from dnspanel.cli.commands import dnspanel
from dnspanel.primaries.models import TransferredZone
from dnspanel.zones.models import Publication, Zone
from tests.dnspanel.cli.conftest import Run
from tests.dnspanel.cli.test_main import commands

ZONE = "example.test"
# Their dry runs are jobs or requests of their own, or they publish what a dry run has shown before.
OTHERWISE = {
    "dnssec policy run",
    "export",
    "import",
    "imports apply",
    "imports undo",
    "nodes drain",
    "requests publish",
    "templates run",
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


def test_a_take_over_is_shown(run: Run, erin: User) -> None:
    assert run("primaries", "create", "abroad.test", "9.9.9.9").code == 0
    TransferredZone.objects.update(serial=7)
    before = Publication.objects.count()
    ran = run("primaries", "take-over", "abroad.test", "--dry-run")
    assert (ran.code, ran.err.splitlines()[-1]) == (0, "Nothing was written.")
    assert Publication.objects.count() == before


def test_a_job_is_not_undone_as_a_dry_run(run: Run) -> None:
    assert run("zones", "change", "--undo", "1", "--dry-run").code == 2
