"""Tests of `dnspanel zones diff` and `dnspanel zones revert`."""

from tests.dnspanel.cli.conftest import Run


def test_revisions_are_compared_and_a_zone_goes_back_to_one(run: Run) -> None:
    run("zones", "create", "example.test")
    for address in ("192.0.2.1", "192.0.2.2"):
        run("records", "set", "example.test", "www", "A", address, "--ttl", "300")
    run("records", "set", "example.test", "ftp", "A", "192.0.2.3", "--ttl", "300")
    one = run("zones", "diff", "example.test", "3").out
    assert one == "- www.example.test. 300 A 192.0.2.1\n+ www.example.test. 300 A 192.0.2.2\n"
    between = run("zones", "diff", "example.test", "2", "4").out
    assert between == one + "+ ftp.example.test. 300 A 192.0.2.3\n"
    assert [each["name"] for each in run("zones", "diff", "example.test", "2", "4", "--output", "json").json] == [
        "www.example.test.",
        "ftp.example.test.",
    ]
    assert run("zones", "diff", "example.test", "3", "3").err == "No records changed.\n"
    assert run("zones", "diff", "example.test", "9").code == 1
    assert run("zones", "revert", "example.test", "2", "--reason", "back").code == 0
    assert run("zones", "diff", "example.test", "2", "5").err == "No records changed.\n"
