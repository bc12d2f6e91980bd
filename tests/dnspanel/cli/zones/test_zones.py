"""Tests of `dnspanel zones`, `dnspanel undo`, `cli.many`, `zones.zone_restore` and `zones.zone_history`."""

import json
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from dnspanel.accounts.models import Role
from dnspanel.zones.dnssec.policy import Terms
from dnspanel.zones.models import ChangeRun, PolicyAttachment, Publication, Zone
from dnspanel.zones.runs import change_runs, run_turns
from dnspanel.zones.signing import policies
from tests.dnspanel.cli.conftest import Run
from tests.dnspanel.cli.in_process import work_on
from tests.people import NOW, make_person


def test_a_zone_comes_goes_and_comes_back(run: Run) -> None:
    created = run("zones", "create", "example.test", "--nameserver", "ns1.panel.test.", "--reason", "new customer")
    assert (created.code, created.err) == (0, "")
    assert "Created example.test (revision 1): 2 added." in created.out
    assert Publication.objects.get().reason == "new customer"
    assert run("zones", "show", "example.test", "--output", "json").json["revision"] == 1
    assert "example.test." in run("zones", "show", "EXAMPLE.test.").out

    deleted = run("zones", "delete", "example.test", input="y\n")
    assert deleted.code == 0
    assert "Delete example.test. with 2 RRsets?" in deleted.err
    assert deleted.out.splitlines() == [
        "Deleted example.test (revision 2).",
        "Publication 2 is saved. To wait for the nodes: dnspanel wait 2",
        "Restore it within 30 days: dnspanel zones restore example.test",
    ]
    assert run("zones", "list").err == "No zones.\n"
    assert run("zones", "restore", "example.test").code == 0
    assert Zone.objects.filter(name="example.test.", deleted_at=None).exists()


def test_a_deletion_that_is_not_confirmed_is_none(run: Run) -> None:
    run("zones", "create", "example.test")
    assert run("zones", "delete", "example.test", input="n\n").code == 130
    assert Zone.objects.filter(deleted_at=None).count() == 1
    assert run("zones", "delete", "example.test", "--yes").code == 0
    assert Zone.objects.filter(deleted_at=None).count() == 0


def test_several_zones_are_deleted_as_one_publication(run: Run) -> None:
    for name in ("a.test", "b.test"):
        run("zones", "create", name)
    deleted = run("zones", "delete", "a.test", "b.test", input="y\n")
    assert (deleted.code, "Delete 2 zones with 4 RRsets?" in deleted.err) == (0, True)
    assert Publication.objects.latest("sequence").revisions.count() == 2


def test_zones_are_listed_over_all_pages(run: Run, monkeypatch: Any) -> None:
    from dnspanel.api.v2.http import pages

    monkeypatch.setattr(pages, "MOST", 1000)
    names = [f"n{number}.example.test" for number in range(5)]
    for name in names:
        assert run("zones", "create", name).code == 0
    listed = run("zones", "list")
    assert [line.split()[0] for line in listed.out.splitlines()] == ["ZONE", *(f"{name}." for name in names)]
    assert [zone["name"] for zone in run("zones", "list", "-q", "n3", "--output", "json").json] == [f"{names[3]}."]
    assert len(run("--output", "json", "zones", "list", "--limit", "2").json) == 2


def test_history_is_listed_and_taken_back(run: Run) -> None:
    run("zones", "create", "example.test")
    run("records", "set", "example.test", "www", "A", "192.0.2.1", "--reason", "typo")
    history = run("zones", "history", "example.test", "--output", "json").json
    assert [(row["revision"], row["kind"], row["reason"]) for row in history] == [
        (2, "change", "typo"),
        (1, "create", ""),
    ]
    undone = run("zones", "undo", "example.test", "2")
    assert (undone.code, undone.err) == (0, "")
    assert "1 removed" in undone.out
    assert run("records", "list", "example.test", "--type", "A").err == "No records.\n"


def test_undoing_what_others_changed_since_is_refused_with_what_they_made_of_it(run: Run) -> None:
    run("zones", "create", "example.test")
    run("records", "set", "example.test", "www", "A", "192.0.2.1")
    run("records", "set", "example.test", "www", "A", "192.0.2.2")
    refused = run("zones", "undo", "example.test", "2")
    assert refused.code == 1
    assert "www.example.test. A: it is 192.0.2.2 by now, not 192.0.2.1" in refused.err
    run("records", "set", "example.test", "mail", "A", "192.0.2.1", "--ttl", "300")
    run("records", "set", "example.test", "mail", "A", "192.0.2.1", "--ttl", "600")
    assert "mail.example.test. A: its TTL is 600 by now, not 300" in run("zones", "undo", "example.test", "4").err


def test_what_is_wrong_is_said_in_words_with_the_field(run: Run) -> None:
    refused = run("zones", "create", "bad..name")
    assert refused.code == 1
    assert refused.err.startswith("Error: ")
    assert "name" in refused.err
    assert run("zones", "show", "nowhere.test").err == "Error: Zone not found: nowhere.test.\n"
    problem = run("zones", "show", "nowhere.test", "--output", "json")
    assert (problem.code, problem.out) == (1, "")
    assert json.loads(problem.err)["code"] == "not-found"


def test_restoring_what_is_not_in_the_trash_is_refused(run: Run) -> None:
    refused = run("zones", "restore", "example.test")
    assert (refused.code, refused.err) == (1, "Error: There is no zone example.test in the trash.\n")


def test_of_two_zones_of_one_name_in_the_trash_the_id_decides(run: Run) -> None:
    for _ in range(2):
        run("zones", "create", "example.test")
        run("zones", "delete", "example.test", "--yes")
    undecided = run("zones", "restore", "example.test")
    assert undecided.code == 2
    older = min(Zone.objects.values_list("pk", flat=True))
    assert str(older) in undecided.err
    assert run("zones", "restore", str(older)).code == 0
    assert Zone.objects.get(deleted_at=None).pk == older


def test_many_zones_come_back_as_one_publication(run: Run) -> None:
    names = ["a.test", "b.test", "c.test"]
    for name in names:
        run("zones", "create", name)
    run("zones", "delete", *names, "--yes")
    deletion = Publication.objects.latest("sequence").sequence
    preview = run("zones", "restore", "--publication", str(deletion), "--dry-run")
    assert preview.out.splitlines() == [
        "3 zones with 6 RRsets would be restored.",
        "  c.test.",
        "  b.test.",
        "  a.test.",
    ]
    assert Zone.objects.filter(deleted_at=None).count() == 0
    back = run("zones", "restore", "-", input="a.test\n\nb.test.\n")
    assert (back.code, back.err) == (0, "")
    assert "2 zones restored, 0 existed already." in back.out
    run("zones", "create", "c.test")
    rest = run("zones", "restore", "--deleted-since", "2h", "--reason", "not meant")
    assert rest.code == 1
    assert "Skipped: c.test.: The zone c.test. already exists." in rest.err
    assert run("zones", "restore").code == 2
    assert run("zones", "restore", "a.test", "-q", "x").code == 2


def test_a_publication_is_taken_back_with_what_it_deleted(run: Run) -> None:
    for name in ("a.test", "b.test"):
        run("zones", "create", name)
    run("zones", "delete", "a.test", "b.test", "--yes")
    undone = run("undo", str(Publication.objects.latest("sequence").sequence), "--reason", "wrong list")
    assert (undone.code, undone.err) == (0, "")
    assert "2 zones restored" in undone.out
    newest = Publication.objects.latest("sequence")
    assert (newest.reason, newest.revisions.count()) == ("wrong list", 2)
    run("records", "set", "a.test", "www", "A", "192.0.2.1")
    assert "1 removed" in run("undo", str(Publication.objects.latest("sequence").sequence)).out


def test_a_zone_is_cloned(run: Run) -> None:
    run("zones", "create", "example.test")
    run("records", "set", "example.test", "shop", "CNAME", "www.example.test.")
    cloned = run("zones", "clone", "example.test", "a.test", "b.test", "--reason", "customers")
    assert (cloned.code, cloned.err) == (0, "")
    assert "Created a.test (revision 1): 3 added." in cloned.out
    assert "www.b.test." in run("records", "list", "b.test").out
    assert run("zones", "clone", "example.test", "a.test").code != 0


def test_many_zones_are_changed_by_a_search(run: Run) -> None:
    for name in ("shop1.test", "shop2.test", "other.test"):
        assert run("zones", "create", name).code == 0
    preview = run("zones", "change", "-q", "shop", "--add-tag", "eu", "--dry-run")
    assert preview.out.splitlines() == ["2 zones with 4 RRsets would change.", "  shop1.test.", "  shop2.test."]
    assert "Nothing was written." in preview.err
    assert run("zones", "change", "-q", "shop", "--add-tag", "eu").out == "2 zones changed, 0 had nothing to change.\n"
    assert run("zones", "change", "shop1.test", "--remove-tag", "eu").code == 0
    assert [zone["name"] for zone in run("zones", "list", "--tag", "eu", "--output", "json").json] == ["shop2.test."]
    deleted = run("zones", "change", "-q", "shop", "--delete", "--reason", "closed")
    assert "2 zones changed" in deleted.out
    assert [zone["name"] for zone in run("zones", "list", "--output", "json").json] == ["other.test."]


@pytest.mark.parametrize(
    "options",
    [
        ["-q", "x"],
        ["--add-tag", "x"],
        ["-q", "x", "--team", "1", "--no-team"],
        ["a", "-q", "x", "--delete"],
    ],
    ids=" ".join,
)
def test_a_change_of_many_zones_says_what_and_where_once(run: Run, options: list[str]) -> None:
    assert run("zones", "change", *options).code == 2


@pytest.fixture
def worker(transactional_db: None) -> Iterator[None]:
    """Run queued change runs until the test ends, as a Celery worker would."""
    yield from work_on(partial(run_turns.unfinished_ids, ChangeRun), change_runs.work_on_run)


def test_any_number_of_zones_is_changed_as_a_job_and_back_again(run: Run, worker: None) -> None:
    for name in ("a.test", "b.test"):
        run("zones", "create", name)
    where = ("zones", "change", "-q", "zone:test")
    dry = run(*where, "--add-tag", "eu", "--job", "--dry-run")
    assert (dry.code, dry.err.splitlines()[-1]) == (0, "Nothing was written. Without --dry-run the job is carried out.")
    assert not Zone.objects.exclude(tags=[]).exists()
    done = run(*where, "--add-tag", "eu", "--job")
    assert (done.code, "2 change" in done.err) == (0, True)
    assert Zone.objects.filter(tags=["eu"]).count() == 2
    number = done.err.split("--undo ")[1].split()[0]
    assert run("zones", "change", "--undo", number, "a.test").code == 2
    assert run("zones", "change", "--undo", number).code == 0
    assert not Zone.objects.exclude(tags=[]).exists()


def test_zones_get_a_policy_as_a_job(run: Run, worker: None) -> None:
    policies.create_policy(
        name="Strict", terms=Terms(), is_default=False, by=make_person("ada", Role.ADMINISTRATOR), now=NOW
    )
    run("zones", "create", "a.test")
    assert run("zones", "change", "a.test", "--policy", "None such").code == 2
    assert run("zones", "change", "a.test", "--policy", "Strict", "--output", "json").json["counts"] == {"change": 1}
    assert PolicyAttachment.objects.count() == 1
    assert run("zones", "change", "a.test", "--no-policy").code == 0
    assert not PolicyAttachment.objects.exists()
