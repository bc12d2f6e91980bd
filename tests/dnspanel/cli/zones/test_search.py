"""Tests of `dnspanel search`."""

from tests.dnspanel.cli.conftest import Run


def test_zones_and_records_are_found_everywhere(run: Run) -> None:
    for name in ("shop.test", "other.test"):
        run("zones", "create", name)
    run("records", "set", "other.test", "shop", "A", "192.0.2.7", "--ttl", "300")
    found = run("search", "shop", "--output", "json").json
    assert [(row["kind"], row["zone"]) for row in found] == [("zone", "shop.test."), ("rrset", "other.test.")]
    table = run("search", "shop", "--only", "records").out
    assert ("192.0.2.7" in table, "(the zone)" in table) == (True, False)
    assert "(the zone)" in run("search", "shop", "--only", "zones").out
    few = run("search", "shop", "--limit", "1")
    assert (few.out.count("\n"), "more than 1" in few.err) == (2, True)
    none = run("search", "none.test")
    assert (none.code, none.err) == (0, "No zones or records match.\n")
