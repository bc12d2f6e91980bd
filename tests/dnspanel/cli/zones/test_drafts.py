"""Tests of `dnspanel drafts`."""

from tests.dnspanel.cli.conftest import Run


def test_changes_wait_in_the_draft_until_they_are_published(run: Run) -> None:
    run("zones", "create", "example.test")
    run("records", "set", "example.test", "old", "A", "192.0.2.9", "--ttl", "60")
    wanted = run("drafts", "set", "example.test", "www", "A", "192.0.2.1", "--ttl", "5m")
    assert (wanted.code, "added" in wanted.out) == (0, True)
    assert "deleted" in run("drafts", "delete", "example.test", "old", "A").out
    displayed = run("drafts", "show")
    assert "+ www.example.test. 300 A 192.0.2.1\n" in displayed.out
    assert "- old.example.test. 60 A 192.0.2.9\n" in displayed.out
    assert run("records", "list", "example.test", "--name", "www", "--output", "json").json == []
    published = run("drafts", "publish", "--reason", "move", "--output", "json")
    assert (published.code, published.json["publication"]["reason"]) == (0, "move")
    assert run("drafts", "show").err == "The draft holds no change.\n"


def test_a_ttl_that_is_not_given_is_the_present_one(run: Run) -> None:
    run("zones", "create", "example.test")
    run("records", "set", "example.test", "www", "A", "192.0.2.1", "--ttl", "60")
    run("drafts", "set", "example.test", "www", "A", "192.0.2.2")
    assert "+ www.example.test. 60 A 192.0.2.2\n" in run("drafts", "show").out


def test_a_draft_is_discarded_as_a_whole_or_for_one_zone(run: Run) -> None:
    for zone in ("a.test", "b.test"):
        run("zones", "create", zone)
        run("drafts", "set", zone, "www", "A", "192.0.2.1", "--ttl", "60")
    assert run("drafts", "discard", "--zone", "a.test", input="n\n").code == 130
    assert run("drafts", "discard", "--zone", "a.test", "--yes").code == 0
    assert [plan["zone"] for plan in run("drafts", "show", "--output", "json").json] == ["b.test."]
    assert run("drafts", "discard", input="y\n").code == 0
    assert run("drafts", "show", "--output", "json").json == []


def test_a_saved_draft_is_listed_shown_published_and_discarded(run: Run) -> None:
    run("zones", "create", "example.test")
    for number in (1, 2):
        run("drafts", "set", "example.test", f"w{number}", "A", "192.0.2.1", "--ttl", "60")
        run("api", "POST", "/drafts", "-f", f"name=move {number}")
    keys = {row["name"]: row["key"] for row in run("drafts", "list", "--output", "json").json}
    assert keys.keys() == {"move 1", "move 2"}
    assert "+ w1.example.test. 60 A 192.0.2.1\n" in run("drafts", "show", keys["move 1"]).out
    assert run("drafts", "publish", keys["move 1"]).code == 0
    assert run("drafts", "discard", keys["move 2"], "--yes").code == 0
    assert run("drafts", "list", "--output", "json").json == []
    assert run("drafts", "discard", keys["move 2"], "--zone", "example.test").code == 2
