"""Tests of `dnspanel secondaries`."""

from dnspanel.accounts.models import Role, User
from dnspanel.secondaries import set_up_secondaries
from dnspanel.secondaries.models import Member
from tests.dnspanel.cli.conftest import Run
from tests.dnspanel.zones.conftest import zone_maker
from tests.people import NOW, make_person


def test_secondaries_and_their_zones_are_listed(run: Run, erin: User) -> None:
    assert "No secondaries." in run("secondaries", "list").err + run("secondaries", "list").out
    for name in ("a.test.", "b.test."):
        zone_maker(erin)(name=name)
    alice = make_person("alice", Role.ADMINISTRATOR)
    set_up_secondaries.create_secondary(
        terms=set_up_secondaries.Terms("partner", ["9.9.9.9"], kind="nsd"), by=alice, now=NOW
    )
    Member.objects.filter(zone_name="a.test.").update(behind_since=None, transferred_how="IXFR", transferred_at=NOW)
    assert run("secondaries", "list").out.splitlines()[1].split() == ["partner", "nsd", "all", "yes", "0", "9.9.9.9"]
    zones = sorted(run("secondaries", "zones", "partner").out.splitlines()[1:])  # in the order of their ids
    assert [line.split()[0] for line in zones] == ["a.test.", "b.test."]
    assert "IXFR" in zones[0]
    behind = run("secondaries", "zones", "partner", "--behind", "--output", "json").json
    assert [row["zone"] for row in behind] == ["b.test."]


def test_what_one_may_not_do_or_what_is_not_there_is_refused(run: Run, erin: User) -> None:
    alice = make_person("alice", Role.ADMINISTRATOR)
    set_up_secondaries.create_secondary(terms=set_up_secondaries.Terms("partner", ["9.9.9.9"]), by=alice, now=NOW)
    assert run("secondaries", "notify", "partner").code == 1, "Erin is an editor"
    refused = run("secondaries", "zones", "nobody")
    assert (refused.code, "There is no secondary nobody." in refused.err) == (1, True)
