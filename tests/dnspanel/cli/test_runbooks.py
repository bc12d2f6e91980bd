"""The runbooks whose commands are those of the command line, carried out as they are written."""

from tests.dnspanel.cli.conftest import Ran, Run
from tests.docs.runbooks import commands_of


def carried_out(run: Run, command: list[str]) -> Ran:
    """Run one command of a page; it must succeed."""
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
    history, as_json, audit, undo = commands_of("who-changed-this-record", REVISION="4")
    newer, *its_change, older, first = carried_out(run, history).out.splitlines()
    assert its_change == ["- www.example.com. 3600 A 192.0.2.1", "+ www.example.com. 3600 A 192.0.2.66"]
    assert first == "+ www.example.com. 3600 A 192.0.2.1"
    assert [line.split()[0] for line in (newer, older)] == ["4", "2"]
    assert ("erin" in newer, newer.endswith("change: moved"), older.endswith("change: first")) == (True, True, True)
    assert [row["revision"] for row in carried_out(run, as_json).json] == [4, 2]
    listed = carried_out(run, audit).out
    assert all(word in listed for word in ("moved", "127.0.0.1", "command line"))
    carried_out(run, undo)
    assert "192.0.2.1" in run("records", "list", "example.com", "--name", "www").out
    assert "192.0.2.9" in run("records", "list", "example.com", "--name", "mail").out
