"""The plan: the review displays it, and a publication carries it out."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from pytest_django.fixtures import DjangoAssertNumQueries

from dnspanel.accounts.models import User
from dnspanel.zones.drafts import draft
from dnspanel.zones.models import Operation, Zone
from dnspanel.zones.plan.plan import ZonePlan
from dnspanel.zones.publishing import revision
from dnspanel.zones.rules.rules import BREAKING_DS
from replication.dns import rdata, rdtypes
from replication.dns.rrset import Change
from tests.dnspanel.zones.conftest import ZONE, MakeZone, rr
from tests.people import NOW


def plan(author: User, zone: Zone, *lines: str, gone: tuple[str, ...] = ()) -> ZonePlan:
    """Put these lines, and deletions of these `name TYPE`, into a draft. Return the draft's plan."""
    for line in lines:
        draft.replace_rrset(author=author, zone=zone, rrset=rr(line), now=NOW)
    for text in gone:
        name, type_ = text.split()
        key = {"name": ZONE if name == "@" else f"{name}.{ZONE}", "type": rdata.type_from_text(type_)}
        draft.delete_rrset(author=author, zone=zone, now=NOW, **key)  # type: ignore[arg-type]
    (planned,) = revision.preview(author=author)
    return planned


def codes(planned: ZonePlan) -> set[str]:
    return {violation.code for violation in planned.violations}


def test_a_plan_says_what_changes_and_the_serial_and_writes_nothing(bob: User, zone: Zone) -> None:
    planned = plan(bob, zone, "zz 300 A 192.0.2.3", "aa 300 A 192.0.2.3", "www 60 A 192.0.2.1", gone=("shop CNAME",))
    assert [change.name.removesuffix("." + ZONE) for change in planned.changes] == ["aa", "shop", "www", "zz"]
    assert (planned.added, planned.changed, planned.removed, planned.serial) == (2, 1, 1, 2)
    assert planned.violations == ()
    assert planned.guard == ()
    zone.refresh_from_db()
    assert zone.revision == 1
    assert Operation.objects.count() == 4


def test_a_plan_of_one_edit_takes_four_queries(bob: User, zone: Zone) -> None:
    plan(bob, zone, "www 60 A 192.0.2.1")
    with CaptureQueriesContext(connection) as queries:
        revision.preview(author=bob)
    assert len(queries) == 4


def test_a_plan_of_many_zones_takes_the_queries_of_one(
    bob: User, make_zone: MakeZone, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    """Previously each zone was queried separately for targets of lost names, names below cuts and CNAME chains."""
    lines = (
        "www 300 A 192.0.2.1",
        "shop 300 CNAME www",
        "b 300 CNAME c",
        "c 300 CNAME d",
        "d 300 CNAME a",
        "x.old 1 A 192.0.2.1",
    )
    zones = [make_zone(*lines, name=f"z{number}.test.") for number in range(5)]
    for zone in zones:
        for line in ("a 300 CNAME b", "old 300 DNAME new.example.net."):
            draft.replace_rrset(author=bob, zone=zone, rrset=rr(line, origin=zone.name), now=NOW)
        draft.delete_rrset(author=bob, zone=zone, name=f"www.{zone.name}", type=1, now=NOW)
    for count in (1, 5):
        with django_assert_num_queries(11):
            plans = revision.preview(author=bob, zones=zones[:count])
        assert len(plans) == count
        for planned in plans:
            assert {"cname-loop", "dname-below", "target-missing"} <= codes(planned)


def test_names_that_a_zone_inside_answers_for_are_warned_of(bob: User, zone: Zone, make_zone: MakeZone) -> None:
    make_zone(name="sub." + ZONE)
    planned = plan(
        bob, zone, "sub 300 TXT x", "a.sub 300 A 192.0.2.1", "sub 300 NS ns.sub | ns2.example.net.",
        "ns.sub 300 A 192.0.2.1", "sub 300 DS 1 13 2 " + "ab" * 32, "@ 300 MX 10 mail.sub", "www 60 A 192.0.2.1",
    )  # fmt: skip
    assert {(v.code, v.name, v.type) for v in planned.violations} == {
        ("shadowed", "sub." + ZONE, rdtypes.TXT),
        ("shadowed", "a.sub." + ZONE, rdtypes.A),
        (BREAKING_DS, "sub." + ZONE, rdtypes.DS),
        ("target-missing", "sub." + ZONE, rdtypes.NS),
        ("target-missing", ZONE, rdtypes.MX),
    }, "NS, DS and glue belong here; and the zone inside has no address of mail.sub and ns.sub"
    gone = plan(bob, zone, gone=("www A",))
    assert "shadowed" in codes(gone)


def test_deleting_what_a_cname_or_the_apex_points_at_is_warned_of(bob: User, zone: Zone) -> None:
    planned = plan(bob, zone, gone=("www A", "mail A"))
    assert {(v.code, v.name, v.type) for v in planned.violations} == {
        ("target-missing", "shop." + ZONE, rdtypes.CNAME),
        ("target-missing", ZONE, rdtypes.MX),
    }
    assert len(planned.warnings) == 2
    assert planned.errors == ()


def test_deleting_both_ends_is_not(bob: User, zone: Zone) -> None:
    assert codes(plan(bob, zone, gone=("www A", "shop CNAME"))) == set()


def test_a_target_added_in_the_same_draft_is_there(bob: User, zone: Zone) -> None:
    assert codes(plan(bob, zone, "a 300 CNAME b", "b 300 A 192.0.2.1")) == set()


def test_what_was_wrong_before_and_is_not_touched_is_not_brought_up(bob: User, make_zone: MakeZone) -> None:
    zone = make_zone("@ 300 MX 10 gone", "@ 3600 NS ns1.example.net.")
    assert codes(plan(bob, zone, "www 300 A 192.0.2.1", "@ 300 TXT text")) == set()
    assert codes(plan(bob, zone, "@ 60 MX 10 gone")) == {"target-missing"}


def test_a_loop_over_three_cnames_is_seen_by_following_them(bob: User, make_zone: MakeZone) -> None:
    zone = make_zone("b 300 CNAME c", "c 300 CNAME d", "d 300 CNAME a.example.test.")
    assert "cname-loop" in codes(plan(bob, zone, "a 300 CNAME b"))


def test_a_loop_over_cnames_and_dnames_is_seen_by_following_them(bob: User, make_zone: MakeZone) -> None:
    """Previously such a loop was published without a warning, and nodes answered SERVFAIL."""
    zone = make_zone("d 300 DNAME e.deep", "x.e.deep 300 CNAME y.f", "f 300 DNAME g", "y.g 300 CNAME a")
    assert "cname-loop" in codes(plan(bob, zone, "a 300 CNAME x.d"))


def test_a_loop_over_dnames_is_seen_by_following_them(bob: User, make_zone: MakeZone) -> None:
    zone = make_zone("m 300 DNAME z.n", "n 300 DNAME o")
    assert "dname-loop" in codes(plan(bob, zone, "o 300 DNAME m"))


def test_a_dname_over_names_is_an_error_unless_they_go_too(bob: User, make_zone: MakeZone) -> None:
    zone = make_zone("a.old 300 A 192.0.2.1", "b.old 300 A 192.0.2.1")
    assert "dname-below" in codes(plan(bob, zone, "old 300 DNAME new.example.net.", gone=("a.old A",)))
    assert codes(plan(bob, zone, gone=("b.old A",))) == set()


def test_a_delegation_over_names_is_a_warning(bob: User, make_zone: MakeZone) -> None:
    zone = make_zone("a.sub 300 A 192.0.2.1", "ns.sub 300 A 192.0.2.1")
    assert codes(plan(bob, zone, "sub 300 NS ns.sub")) == {"occludes"}


def test_removing_glue_is_warned_of(bob: User, make_zone: MakeZone) -> None:
    zone = make_zone("sub 300 NS ns.sub", "ns.sub 300 A 192.0.2.1")
    assert codes(plan(bob, zone, gone=("ns.sub A",))) == {"glue-missing"}


def test_deleting_the_soa_is_an_error(bob: User, zone: Zone) -> None:
    assert codes(plan(bob, zone, gone=("@ SOA",))) == {"soa-missing"}


@pytest.mark.parametrize(("count", "gone", "holds"), [(18, 6, False), (18, 7, True), (4, 3, False), (400, 101, True)])
def test_the_guard_counts_deletions_against_the_zone(
    bob: User, make_zone: MakeZone, count: int, gone: int, holds: bool
) -> None:
    zone = make_zone(*(f"h{i} 300 A 192.0.2.1" for i in range(count)))  # plus SOA and NS
    changes = [Change(f"h{i}.{ZONE}", 1, rr(f"h{i} 300 A 192.0.2.1"), None) for i in range(gone)]
    draft.draft_changes(author=bob, zones=[draft.ZoneChanges(zone, changes, 1)], now=NOW)
    assert bool(revision.preview(author=bob)[0].guard) == holds


def test_the_guard_holds_the_removal_of_a_ds(bob: User, make_zone: MakeZone) -> None:
    zone = make_zone("sub 300 NS ns.example.net.", "sub 300 DS 1 13 2 " + "ab" * 32)
    assert "DS" in plan(bob, zone, gone=("sub DS",)).guard[0]


def test_a_ds_for_a_zone_that_is_served_here_unsigned_is_warned_of(bob: User, zone: Zone, make_zone: MakeZone) -> None:
    make_zone(name="sub." + ZONE)
    planned = plan(bob, zone, *(f"{name} 300 DS 1 13 2 {'00' * 32}" for name in ("sub", "far")))
    assert [(v.code, v.name) for v in planned.warnings if v.code == BREAKING_DS] == [(BREAKING_DS, "sub." + ZONE)]
