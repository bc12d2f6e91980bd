"""Tests of `dnspanel expiries`."""

from tests.dnspanel.cli.conftest import Run


def test_a_time_is_set_listed_and_cancelled(run: Run) -> None:
    run("zones", "create", "example.test")
    run("records", "add", "example.test", "www", "A", "192.0.2.1")
    assert "No records expire." in run("expiries", "list").err
    assert run("expiries", "set", "example.test", "www", "a", "--days", "20").code == 0
    [found] = run("expiries", "list", "--output", "json").json
    assert (found["zone"], found["name"], found["type"]) == ("example.test.", "www.example.test.", "A")
    assert "www.example.test." in run("expiries", "list", "--days", "30").out
    assert run("expiries", "list", "--days", "10", "--output", "json").json == []
    moved = run("expiries", "set", "example.test", "www", "A", "--at", "2030-01-31T18:00:00Z", "--output", "json").json
    assert moved["remove_at"].startswith("2030-01-31T18:00:00")
    assert run("expiries", "cancel", "example.test", "www", "A").code == 0
    assert run("expiries", "list", "--output", "json").json == []


def test_without_a_time_it_is_wrong_usage(run: Run) -> None:
    wrong = run("expiries", "set", "example.test", "www", "A")
    assert (wrong.code, "Give --days or --at" in wrong.err) == (2, True)
