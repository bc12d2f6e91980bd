"""Tests of `dnspanel locks`."""

from tests.dnspanel.cli.conftest import Run


def test_a_lock_is_placed_listed_and_lifted(run: Run) -> None:
    run("zones", "create", "example.test")
    run("records", "add", "example.test", "www", "A", "192.0.2.1")
    assert "No locks." in run("locks", "list", "example.test").err
    made = run("locks", "add", "example.test", "www", "a", "--reason", "Ask the shop", "--output", "json").json
    assert (made["name"], made["type"], made["manager"]) == ("www.example.test.", "A", None)
    listed = run("locks", "list", "example.test").out
    assert "Ask the shop" in listed
    assert "nobody" in listed
    refused = run("records", "set", "example.test", "www", "A", "192.0.2.2")
    assert (refused.code, "Ask the shop" in refused.err) == (1, True)
    full = run("locks", "add", "example.test", "--reason", "Terraform", "--mine", "--output", "json").json
    assert full["name"] is None
    for number in (made["id"], full["id"]):
        assert run("locks", "lift", "example.test", str(number)).code == 0
    assert run("records", "set", "example.test", "www", "A", "192.0.2.2").code == 0
    assert run("locks", "lift", "example.test", str(made["id"])).code == 1
