"""Tests of `dnspanel tsig-keys`."""

from functools import partial

from dnspanel.api.v2.resources.tsig_keys import ALGORITHMS as TAKEN
from dnspanel.cli.access.tsig_keys import ALGORITHMS
from tests.dnspanel.cli.conftest import Run

SECRET = "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="


def test_the_command_knows_the_algorithms_of_the_panel() -> None:
    assert set(ALGORITHMS) == {name for name, _ in TAKEN}


def test_a_key_from_its_creation_to_its_end(run: Run, administrator: str) -> None:
    run = partial(run, token=administrator)
    run("zones", "create", "example.test")
    scope = ("--zone", "example.test", "--right", "read", "--right", "add")
    made = run("tsig-keys", "create", "ddns.test", "--purpose", "DHCP", *scope, "--days", "7", "--output", "json")
    assert (made.code, made.err, bool(made.json["key"])) == (0, "", True)
    number = str(made.json["id"])
    assert ("ddns.test" in run("tsig-keys", "list").out, "DHCP" in run("tsig-keys", "list").out) == (True, True)
    displayed = run("tsig-keys", "show", number)
    assert ("add" in displayed.out, made.json["key"] in displayed.out) == (True, False)
    assert run("tsig-keys", "revoke", number).code == 0
    assert [row["state"] for row in run("tsig-keys", "list", "--output", "json").json] in ([], ["revoked"])


def test_a_secret_comes_from_standard_input(run: Run) -> None:
    made = run(
        "tsig-keys", "create", "own.test", "--everywhere", "--secret-file", "-", "--output", "json", input=SECRET
    )
    assert (made.code, made.json["key"]) == (0, SECRET)
    assert run("tsig-keys", "create", "other.test").code == 2
