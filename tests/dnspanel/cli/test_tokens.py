"""`dnspanel tokens` and `dnspanel whoami`."""

from dnspanel.accounts.models import Token
from tests.dnspanel.cli.conftest import Run


def test_whoami_says_whose_token_it_is_and_what_it_may_do(run: Run) -> None:
    displayed = run("whoami")
    assert displayed.code == 0
    assert "user         erin" in displayed.out
    assert "all zones" in displayed.out
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
    assert (refused.code, "You may not" in refused.err) == (1, True)
    own = run("tokens", "list", "--output", "json", token=secret).json
    assert [token["purpose"] for token in own] == ["certificate"]
    assert "certificate" in run("tokens", "list", token=secret).out

    assert run("tokens", "revoke", str(made["id"]), token=secret).code == 0
    assert Token.objects.get(pk=made["id"]).revoked_at is not None
    assert run("whoami", token=secret).code == 1


def test_a_token_for_nothing_is_wrong_usage(run: Run) -> None:
    wrong = run("tokens", "create", "nothing")
    assert (wrong.code, "Give --zone, --tag" in wrong.err) == (2, True)
