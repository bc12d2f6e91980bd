"""Tests of `dnspanel primaries`."""

from pathlib import Path

from dnspanel.accounts.models import User
from dnspanel.primaries.models import TransferredZone
from tests.dnspanel.cli.conftest import Run
from tests.own_certificates import own_certificate
from tests.people import NOW

SECRET = "c2l4dGVlbiBieXRlcyBub3c="


def test_a_zone_is_made_asked_taken_over_and_given_back(run: Run, erin: User, tmp_path: Path) -> None:
    secret = tmp_path / "key.txt"
    secret.write_text(f"{SECRET}\n")
    key = ("--key", "transfer.test", "--algorithm", "hmac-sha512", "--secret-file", str(secret))
    assert "awaited" in run("primaries", "create", "abroad.test", "9.9.9.9", "9.9.9.10:5300", *key, "--no-ixfr").out
    row = TransferredZone.objects.get()
    assert (row.tsig_name, row.tsig_algorithm, row.uses_ixfr) == ("transfer.test.", "hmac-sha512", False)
    TransferredZone.objects.update(serial=7, wants_all=False)
    assert run("primaries", "retrieve", "abroad.test", "--all").code == 0
    assert TransferredZone.objects.get().wants_all
    assert "revision" in run("primaries", "take-over", "abroad.test").out
    assert "taken over" in run("primaries", "list").out
    assert run("primaries", "give-back", "abroad.test").code == 0
    assert "9.9.9.11" in run("primaries", "set", "abroad.test", "9.9.9.11").out
    assert TransferredZone.objects.get().tsig_name == ""
    found = run("primaries", "show", "abroad.test", "--output", "json").json
    assert (found["addresses"], found["elsewhere"]) == (["9.9.9.11"], True)


def test_one_comes_over_tls(run: Run, erin: User, tmp_path: Path) -> None:
    pem = tmp_path / "authority.pem"
    pem.write_text(own_certificate("ns1.abroad.test").certificate)
    names = ("--tls", "--tls-name", "ns1.abroad.test", "--tls-name", "ns2.abroad.test")
    made = ("9.9.9.9", "9.9.9.10", *names, "--tls-certificates", str(pem), "--show-certificate")
    assert run("primaries", "create", "abroad.test", *made).code == 0
    row = TransferredZone.objects.get()
    assert (row.uses_tls, row.tls_names) == (True, ["ns1.abroad.test", "ns2.abroad.test"])
    assert (row.tls_certificates, row.shows_certificate) == (pem.read_text(), True)
    assert "ns1.abroad.test ns2.abroad.test" in run("primaries", "show", "abroad.test").out
    assert run("primaries", "set", "abroad.test", "9.9.9.9", "--tls-name", "ns1.abroad.test").code == 1


def test_those_to_which_nothing_comes_are_listed_with_the_reason(run: Run, erin: User) -> None:
    assert "No zones." in run("primaries", "list", "--failing").err + run("primaries", "list", "--failing").out
    for name in ("a.test", "b.test"):
        run("primaries", "create", name, "9.9.9.9")
    TransferredZone.objects.filter(zone__name="b.test.").update(failed_since=NOW, error="Silent.", serial=3)
    lines = run("primaries", "list", "--failing").out.splitlines()
    assert [line.split()[0] for line in lines[1:]] == ["b.test."]
    assert "Silent." in lines[1]
    assert run("primaries", "show", "nowhere.test").code == 1
    assert run("primaries", "create", "c.test", "127.0.0.1").code == 1
