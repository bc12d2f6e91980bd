"""Tests of runbooks with command-line commands, which run exactly as written."""

from dnspanel.zones.models import Publication, Zone
from tests.dnspanel.cli.conftest import Run
from tests.dnspanel.cli.in_process import Ran
from tests.docs.runbooks import commands_of


def carried_out(run: Run, command: list[str]) -> Ran:
    """Run a command of a runbook. Fail unless it succeeds."""
    program, *arguments = command
    assert program == "dnspanel"
    done = run(*arguments)
    assert done.code == 0, (command, done.err)
    return done


def test_who_changed_this_record(run: Run) -> None:
    run("zones", "create", "example.com")
    run("records", "set", "example.com", "www", "A", "192.0.2.1", "--reason", "first")
    run("records", "set", "example.com", "mail", "A", "192.0.2.9")
    run("records", "set", "example.com", "www", "A", "192.0.2.66", "--reason", "moved")
    history, audit, undo = commands_of("who-changed-this-record", REVISION="4")
    newer, *its_change, older, first = carried_out(run, history).out.splitlines()
    assert its_change == ["- www.example.com. 3600 A 192.0.2.1", "+ www.example.com. 3600 A 192.0.2.66"]
    assert first == "+ www.example.com. 3600 A 192.0.2.1"
    assert [line.split()[0] for line in (newer, older)] == ["4", "2"]
    assert ("erin" in newer, newer.endswith("change: moved"), older.endswith("change: first")) == (True, True, True)
    listed = carried_out(run, audit).out
    assert all(word in listed for word in ("publish", "moved", "127.0.0.1", "command line"))
    carried_out(run, undo)
    assert "192.0.2.1" in run("records", "list", "example.com", "--name", "www").out
    assert "192.0.2.9" in run("records", "list", "example.com", "--name", "mail").out


def test_many_zones_deleted(run: Run) -> None:
    names = [f"customer{number}.test" for number in range(6)]
    for name in names:
        run("zones", "create", name)
    run("zones", "delete", *names[:4], "--yes", "--reason", "closed")
    run("zones", "delete", *names[4:], "--yes")
    first, second = Publication.objects.order_by("-sequence").values_list("sequence", flat=True)[:2][::-1]
    find, preview, preview_undo, undo, preview_since, since = commands_of("many-zones-deleted", SEQUENCE=str(first))
    listed = carried_out(run, find).out
    assert any(line.split()[0] == str(first) and "closed" in line for line in listed.splitlines())
    assert "4 zones with 8 RRsets would be restored." in carried_out(run, preview).out
    assert "customer0.test.: restore" in carried_out(run, preview_undo).out
    assert Zone.objects.filter(deleted_at=None).count() == 0
    # This test has no nodes, so it doesn't wait for the publication.
    assert "4 zones restored, 0 existed already." in carried_out(run, [*undo[:-1]]).out
    assert Zone.objects.filter(deleted_at=None).count() == 4
    assert "2 zones with 4 RRsets would be restored." in carried_out(run, preview_since).out
    assert "2 zones restored" in carried_out(run, [*since[:-1]]).out
    assert Publication.objects.filter(sequence__gt=second).count() == 2
    assert Zone.objects.filter(deleted_at=None).count() == 6
