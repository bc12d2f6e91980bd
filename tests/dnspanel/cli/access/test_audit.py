"""Tests of `dnspanel audit`. Tests `cli.moments` too."""

from datetime import timedelta

from dnspanel.zones.models import Publication
from tests.dnspanel.cli.conftest import Run


def test_who_did_what_is_listed_with_the_reason_and_from_where(run: Run) -> None:
    run("zones", "create", "example.test", "--reason", "new customer")
    run("zones", "create", "other.test")
    listed = run("audit", "example.test", "--since", "2h")
    assert listed.code == 0
    assert ("new customer" in listed.out, "127.0.0.1" in listed.out) == (True, True)
    assert "other.test" not in listed.out
    (row,) = run("audit", "example.test", "--output", "json").json
    assert (row["actor"]["user"], row["actor"]["token"]["purpose"], row["action"]) == (
        "erin",
        "command line",
        "publish",
    )
    assert len(run("audit", "--user", "erin", "--action", "publish", "--output", "json").json) == 2


def test_a_time_is_how_long_ago_or_a_date(run: Run) -> None:
    run("zones", "create", "example.test")
    at = Publication.objects.get().at
    before, after = at - timedelta(minutes=1), at + timedelta(minutes=1)
    for since, found in ((before.isoformat(), 1), (after.isoformat(), 0), (f"{after:%Y-%m-%dT%H:%M:%S}", 0), ("7d", 1)):
        assert len(run("audit", "example.test", "--since", since, "--output", "json").json) == found, since
        assert len(run("audit", "example.test", "--until", since, "--output", "json").json) == 1 - found, since
    refused = run("audit", "--since", "yesterday")
    assert (refused.code, "neither 30m, 2h or 7d nor a time" in refused.err) == (2, True)
