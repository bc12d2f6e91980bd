"""Tests of `dnspanel transfers`."""

from typing import Any

from dnspanel.accounts.models import User
from tests.dnspanel.cli.conftest import Run


def test_who_transfers_without_a_key_is_set_and_shown_and_what_is_not_named_stays(
    run: Run, erin: User, settings: Any
) -> None:
    settings.SECONDARY_NETWORKS = ["127.0.0.0/8"]
    assert run("zones", "create", "open.test").code == 0
    assert "nobody" in run("transfers", "show", "open.test").out
    done = run("transfers", "set", "open.test", "--from", "192.0.2.0/24", "--notify", "127.0.0.1:5300")
    assert "192.0.2.0/24" in done.out, done.err
    assert "127.0.0.1:5300" in run("transfers", "told", "open.test").out
    assert "127.0.0.1:5300" in run("transfers", "set", "open.test", "--from-nobody").out
    found = run("transfers", "set", "open.test", "--notify-nobody", "--output", "json").json
    assert (found["networks"], found["addresses"]) == ([], [])
    assert run("transfers", "set", "open.test", "--from", "everybody").code == 1
