"""Tests of `dnspanel plan` and `dnspanel apply`, with zone files in a real git repository."""

import json
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from django.utils import timezone

from dnspanel.accounts.actors.actors import Grant, Right
from dnspanel.accounts.models import User
from dnspanel.accounts.tokens.tokens import create_token
from dnspanel.zones.models import Operation, Publication, RRset, Zone
from tests.dnspanel.cli.conftest import EVERYTHING, Run
from tests.dnspanel.cli.zones.test_exports import working
from tests.dnspanel.cli.zones.test_requests import four_eyes

__all__ = ["working"]

ZONES = ("example.test", "other.test")


def git(folder: Path, *args: str) -> str:
    command = ["git", "-C", str(folder), "-c", "user.name=Ann", "-c", "user.email=ann@example.test", *args]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def folder(run: Run, tmp_path: Path) -> Path:
    """Create two zones, export them into a git repository, and return the folder with the zone files."""
    repository = tmp_path / "repository"
    folder = repository / "zones"
    folder.mkdir(parents=True)
    git(repository, "init", "--quiet")
    for zone in ZONES:
        assert run("zones", "create", zone).code == 0
        (folder / f"{zone}.zone").write_text(run("export", zone).out)
    git(repository, "add", ".")
    git(repository, "commit", "--quiet", "-m", "Add the zones")
    return folder


def add_line(folder: Path, line: str, zone: str = ZONES[0]) -> None:
    """Append a record to a zone file, and commit it with the record as the subject."""
    path = folder / f"{zone}.zone"
    path.write_text(path.read_text() + line + "\n")
    git(folder, "commit", "--quiet", "-a", "-m", line)


def addresses(zone: str = ZONES[0]) -> list[str]:
    rows = RRset.objects.filter(zone__name=f"{zone}.", type=1).order_by("name")
    return [text for rrset in rows for text in rrset.rdata]


def test_exported_zones_are_equal_to_their_files(run: Run, folder: Path) -> None:
    planned = run("plan", str(folder))
    assert (planned.code, planned.out) == (0, "")
    assert "No difference." in planned.err
    assert "Nothing to change." in run("apply", str(folder)).out


@pytest.mark.parametrize("arguments", [["--no-such-option"], []])
def test_wrong_usage_of_plan_is_not_taken_for_a_difference(run: Run, folder: Path, arguments: list[str]) -> None:
    wrong = run("plan", *arguments)
    assert (wrong.code, "Usage" in wrong.err) == (1, True)


def test_a_commit_is_planned_and_published_as_one_publication(run: Run, folder: Path) -> None:
    run("records", "set", ZONES[0], "by-hand", "A", "192.0.2.9", "--ttl", "300")
    add_line(folder, "www.other.test. 300 IN A 192.0.2.2", ZONES[1])
    add_line(folder, "www.example.test. 300 IN A 192.0.2.1")
    planned = run("plan", str(folder))
    assert planned.code == 2
    assert planned.out.splitlines() == [
        "- by-hand.example.test. 300 A 192.0.2.9",
        "+ www.example.test. 300 A 192.0.2.1",
        "+ www.other.test. 300 A 192.0.2.2",
    ]
    assert "2 zones of 2 would change." in planned.err
    assert run("plan", str(folder), "--output", "json").json["needs_approval"] is False
    assert addresses() == ["192.0.2.9"]

    before = Publication.objects.count()
    assert run("apply", str(folder)).code == 0
    assert (addresses(), addresses(ZONES[1])) == (["192.0.2.1"], ["192.0.2.2"])
    assert Publication.objects.count() == before + 1
    commit = git(folder, "rev-parse", "--short", "HEAD")
    reason = Publication.objects.latest("sequence").reason
    assert reason == f"Commit {commit}: www.example.test. 300 IN A 192.0.2.1"
    assert run("plan", str(folder)).code == 0


def test_a_plan_is_refused_after_changes_to_the_zone_or_the_files(run: Run, folder: Path, tmp_path: Path) -> None:
    saved = tmp_path / "plan.json"
    add_line(folder, "www.example.test. 300 IN A 192.0.2.1")
    assert run("plan", str(folder), "--out", str(saved)).code == 2
    run("records", "set", ZONES[1], "by-hand", "A", "192.0.2.9", "--ttl", "300")
    refused = run("apply", str(folder), "--plan", str(saved))
    assert refused.code == 1
    assert ZONES[1] in refused.err
    assert addresses() == []

    assert run("plan", str(folder), "--out", str(saved)).code == 2
    add_line(folder, "www2.example.test. 300 IN A 192.0.2.2")
    refused = run("apply", str(folder), "--plan", str(saved))
    assert (refused.code, "have changed since" in refused.err) == (2, True)

    assert run("plan", str(folder), "--out", str(saved)).code == 2
    assert run("apply", str(folder), "--plan", str(saved)).code == 0
    assert addresses() == ["192.0.2.1", "192.0.2.2"]


def test_changes_that_need_approval_become_a_request(run: Run, folder: Path, tmp_path: Path) -> None:
    others, saved = four_eyes(Zone.objects.get(name=f"{ZONES[0]}.")), tmp_path / "plan.json"
    add_line(folder, "www.example.test. 300 IN A 192.0.2.1")
    planned = run("plan", str(folder), "--out", str(saved))
    assert (planned.code, "need approval" in planned.err) == (2, True)
    assert planned.out.splitlines() == ["+ www.example.test. 300 A 192.0.2.1"]
    assert set(json.loads(saved.read_text())["zones"]) == {f"{zone}." for zone in ZONES}
    assert not Operation.objects.exists()  # the plan left no draft

    created = run("apply", str(folder), "--plan", str(saved), "--output", "json")
    assert created.code == 0
    request = created.json["request"]
    assert request["name"].startswith("Commit ")
    assert addresses() == []
    assert "already have a draft with this name" in run("apply", str(folder)).err
    assert run("requests", "approve", request["key"], request["digest"], token=others).code == 0
    assert run("requests", "publish", request["key"]).code == 0
    assert addresses() == ["192.0.2.1"]
    assert run("plan", str(folder)).code == 0


def test_a_token_needs_all_of_the_zones(run: Run, folder: Path, erin: User) -> None:
    add_line(folder, "www.example.test. 300 IN A 192.0.2.1")
    add_line(folder, "www.other.test. 300 IN A 192.0.2.1", ZONES[1])
    one, now = Zone.objects.get(name=f"{ZONES[0]}."), timezone.now()
    rights = frozenset({Right.READ, Right.ADD, Right.CHANGE, Right.REMOVE})

    def token(*grants: Grant) -> str:
        return create_token(owner=erin, terms=replace(EVERYTHING, scope=grants), by=erin, now=now).secret

    limited = token(Grant(rights, zones=frozenset({one.pk})))
    refused = run("plan", str(folder), token=limited)
    assert (refused.code, "Zone not found: other.test." in refused.err) == (1, True)
    (folder / f"{ZONES[1]}.zone").unlink()
    assert run("apply", str(folder), token=limited).code == 0
    assert addresses() == ["192.0.2.1"]
    few = token(Grant(rights, zones=frozenset({one.pk}), names=("www",)))
    assert "needs a token that can see all of example.test." in run("plan", str(folder), token=few).err


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("www 300 IN A 192.0.2", "Line 5, column 14"),
        ("$INCLUDE secrets.txt", "can’t be included here"),
        ("www.elsewhere.test. 300 IN A 192.0.2.1", "isn’t inside example.test."),
        ("www 300 IN CNAME example.test.\nwww 300 IN A 192.0.2.1", "CNAME"),
    ],
)
def test_errors_name_the_zone_and_the_line(run: Run, folder: Path, line: str, reason: str) -> None:
    path = folder / f"{ZONES[0]}.zone"
    path.write_text(path.read_text() + f"{line}\n")
    for command in ("plan", "apply"):
        refused = run(command, str(folder))
        assert refused.code == 1
        assert reason in refused.err


def test_comments_and_the_serial_do_not_count(run: Run, folder: Path) -> None:
    add_line(folder, "www.example.test. 300 IN A 192.0.2.1")
    assert run("apply", str(folder)).code == 0
    assert run("records", "note", ZONES[0], "www", "A", "--comment", "Web", "--tag", "shop").code == 0
    assert run("plan", str(folder)).code == 0
    path = folder / f"{ZONES[0]}.zone"
    path.write_text(path.read_text().replace("www.example.test. 300", "www.example.test. 600"))
    assert run("apply", str(folder)).code == 0
    rrset = RRset.objects.get(zone__name=f"{ZONES[0]}.", name="www.example.test.")
    assert (rrset.ttl, rrset.comment) == (600, "Web")


def test_a_directory_without_zone_files_is_wrong_usage(run: Run, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    refused = run("plan", str(empty))
    assert (refused.code, "has no files with names such as example.net.zone" in refused.err) == (1, True)
