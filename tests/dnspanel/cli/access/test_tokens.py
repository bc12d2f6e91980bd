"""Tests of `dnspanel tokens` and `dnspanel whoami`."""

from dnspanel import __version__
from dnspanel.accounts.models import Token
from tests.dnspanel.cli.conftest import Run


def test_whoami_says_whose_token_it_is_and_what_it_may_do(run: Run) -> None:
    displayed = run("whoami")
    assert displayed.code == 0
    assert "user         erin" in displayed.out
    assert "all zones" in displayed.out
    assert f"command      {__version__}\n" in displayed.out
    assert run("whoami", "--output", "json").json["user"] == "erin"


def test_a_narrow_token_is_made_used_and_revoked(run: Run) -> None:
    run("zones", "create", "example.test")
    made = run(
        "tokens",
        "create",
        "certificate",
        "--zone",
        "example.test",
        "--right",
        "read",
        "--right",
        "add",
        "--name",
        "_acme-challenge",
        "--type",
        "TXT",
        "--days",
        "7",
        "--output",
        "json",
    ).json
    assert made["scope"][0]["names"] == ["_acme-challenge"]
    secret = made["secret"]
    assert run("records", "add", "example.test", "_acme-challenge", "TXT", '"x"', token=secret).code == 0
    refused = run("records", "add", "example.test", "www", "A", "192.0.2.1", token=secret)
    assert (refused.code, "You don’t have permission" in refused.err) == (1, True)
    own = run("tokens", "list", "--output", "json", token=secret).json
    assert [token["purpose"] for token in own] == ["certificate"]
    assert "certificate" in run("tokens", "list", token=secret).out

    assert run("tokens", "revoke", str(made["id"]), token=secret).code == 0
    assert Token.objects.get(pk=made["id"]).revoked_at is not None
    assert run("whoami", token=secret).code == 1


def test_a_token_is_rotated_and_the_old_one_works_for_a_while(run: Run, administrator: str) -> None:
    old = run("tokens", "create", "CI", "--everywhere", "--output", "json", token=administrator).json
    new = run("tokens", "rotate", str(old["id"]), "--overlap", "1h", "--output", "json", token=old["secret"])
    assert (new.code, new.json["scope"], new.json["secret"] == old["secret"]) == (0, old["scope"], False)
    for secret in (old["secret"], new.json["secret"]):
        assert run("whoami", token=secret).code == 0
    assert Token.objects.get(pk=old["id"]).rotated_to_id == new.json["id"]
    assert run("tokens", "rotate", str(new.json["id"]), "--overlap", "0", token=administrator).code == 0
    assert run("whoami", token=new.json["secret"]).code == 1


def test_a_token_for_nothing_is_wrong_usage(run: Run) -> None:
    wrong = run("tokens", "create", "nothing")
    assert (wrong.code, "Give --zone, --tag" in wrong.err) == (2, True)
