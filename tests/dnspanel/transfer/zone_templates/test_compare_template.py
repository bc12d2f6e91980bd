"""The changes that a template makes to a zone. Manual edits are overwritten only if the user chooses that."""

import pytest

from dnspanel.transfer.zone_templates.compare_template import Act, RRsets, Step, add_beside, compare
from replication.dns.rrset import RRset
from tests.dnspanel.zones.conftest import ZONE, rr

OLD = rr("www 300 A 192.0.2.1")
NEW = rr("www 300 A 192.0.2.2")
OWN = rr("www 300 A 198.51.100.1")


def rrsets(*given: RRset | None) -> RRsets:
    return {(each.name, each.type): each for each in given if each is not None}


def step(now: RRset | None, wanted: RRset | None, *bases: RRset | None) -> Step:
    [found] = compare(rrsets(now), rrsets(wanted), [rrsets(base) for base in bases], apex=ZONE)
    return found


@pytest.mark.parametrize(
    ("now", "wanted", "bases", "act"),
    [
        (None, NEW, (), Act.ADD),
        (OWN, NEW, (), Act.CONFLICT),
        (NEW, NEW, (), Act.SAME),
        (OLD, NEW, (OLD,), Act.CHANGE),
        (NEW, NEW, (OLD,), Act.SAME),
        (OLD, None, (OLD,), Act.REMOVE),
        (OWN, NEW, (OLD,), Act.CONFLICT),
        (OWN, OLD, (OLD,), Act.CONFLICT),
        (OWN, None, (OLD,), Act.CONFLICT),
        (None, OLD, (OLD,), Act.CONFLICT),
        (None, NEW, (None,), Act.ADD),
        (None, None, (OLD,), Act.SAME),
        # In a draft, which may be published by now.
        (None, NEW, (NEW, None), Act.ADD),
        (OLD, NEW, (NEW, OLD), Act.CHANGE),
        (OLD, None, (None, OLD), Act.REMOVE),
        (OWN, NEW, (NEW, OLD), Act.CONFLICT),
    ],
)
def test_each_case(now: RRset | None, wanted: RRset | None, bases: tuple[RRset | None, ...], act: Act) -> None:
    if wanted is None and not bases:
        raise AssertionError("nothing is compared")
    found = step(now, wanted, *bases)
    assert found.act is act
    assert found.changes == (act is not Act.SAME)
    if found.changes:
        assert (found.change.before, found.change.after) == (now, wanted)
    assert bool(found.message) == (act is Act.CONFLICT)


def test_the_name_servers_of_the_apex_are_never_removed() -> None:
    servers = rr("@ 3600 NS ns1.example.net. | ns2.example.net.")
    assert step(servers, None, servers).act is Act.SAME


def test_a_comment_is_no_difference_and_stays() -> None:
    mine = rr("www 300 A 192.0.2.1", comment="mine")
    assert step(mine, OLD, OLD).act is Act.SAME
    after = step(mine, NEW, OLD).change.after
    assert after is not None
    assert after.comment == "mine"


def test_a_snippet_adds_beside_what_is_there() -> None:
    now = rr('@ 600 TXT "v=spf1 -all" | "off"', disabled=('"off"',), comment="c")
    [added] = add_beside(rrsets(now), rrsets(rr('@ 300 TXT "verify=1"')))
    assert added.act is Act.CHANGE
    after = added.change.after
    assert after is not None
    assert (set(after.rdata), after.ttl, after.disabled, after.comment) == (
        {'"v=spf1 -all"', '"off"', '"verify=1"'},
        600,
        ('"off"',),
        "c",
    )
    assert [each.act for each in add_beside(rrsets(after), rrsets(rr('@ 300 TXT "verify=1"')))] == [Act.SAME]
    assert [each.act for each in add_beside({}, rrsets(NEW))] == [Act.ADD]


def test_a_second_cname_is_a_conflict() -> None:
    [found] = add_beside(rrsets(rr("a 300 CNAME b")), rrsets(rr("a 300 CNAME c")))
    assert (found.act, found.change.after) == (Act.CONFLICT, rr("a 300 CNAME c"))
