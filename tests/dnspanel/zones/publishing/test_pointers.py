"""PTR records that follow A and AAAA records."""

from collections.abc import Callable
from contextlib import AbstractContextManager

import pytest

from dnspanel.accounts.actors.actors import RECORD_RIGHTS, Grant, Right
from dnspanel.accounts.models import GrantRow, Role, User
from dnspanel.zones.acting import Acting
from dnspanel.zones.drafts import draft
from dnspanel.zones.models import Channel, Operation, Zone
from dnspanel.zones.publishing import pointers
from dnspanel.zones.publishing.pointers import Pair, State
from dnspanel.zones.publishing.revision import publish
from tests.dnspanel.zones.conftest import ZONE, MakeZone, rr
from tests.people import NOW, make_person

REVERSE = "2.0.192.in-addr.arpa."
WWW = Pair(f"www.{ZONE}", "192.0.2.1")


def drafted(person: User) -> dict[str, str]:
    """Return the draft's records by owner name, or an empty string for deleted ones."""
    edits = [draft.edit_of(operation).change for operation in Operation.objects.filter(draft__author=person)]
    return {change.name: " | ".join(change.after.rdata) if change.after else "" for change in edits}


def states(author: User, *pairs: Pair) -> list[State]:
    return [step.state for step in pointers.steps_of(author=author, pairs=pairs)]


def test_a_ptr_is_made_follows_and_goes(bob: User, zone: Zone, make_zone: MakeZone) -> None:
    make_zone(name=REVERSE)
    assert states(bob, WWW) == [State.MISSING]
    made = pointers.bring_in_step(author=bob, pairs=[WWW], now=NOW)
    assert (made.count, made.zones, made.refused) == (1, (REVERSE,), 0)
    assert drafted(bob) == {f"1.{REVERSE}": f"www.{ZONE}"}
    assert states(bob, WWW) == [State.AGREES]
    publish(acting=Acting(bob, Channel.WEB, NOW))
    draft.replace_rrset(author=bob, zone=zone, rrset=rr("www 300 A 192.0.2.7"), now=NOW)
    moved = [WWW, Pair(WWW.name, "192.0.2.7")]
    assert states(bob, *moved) == [State.LEFT, State.MISSING]
    pointers.bring_in_step(author=bob, pairs=moved, now=NOW)
    assert drafted(bob) == {WWW.name: "192.0.2.7", f"1.{REVERSE}": "", f"7.{REVERSE}": WWW.name}
    draft.drop_operation(author=bob, zone=zone, name=WWW.name, type=1)
    pointers.bring_in_step(author=bob, pairs=moved, now=NOW)
    assert drafted(bob) == {}, "all is as it is published"


def test_a_ptr_takes_the_place_of_another_and_the_first_of_several_has_it(
    bob: User, zone: Zone, make_zone: MakeZone
) -> None:
    make_zone("1 900 PTR old.example.net.", "9 900 PTR old.example.net. | mail.example.test.", name=REVERSE)
    draft.replace_rrset(author=bob, zone=zone, rrset=rr("a 300 A 192.0.2.1"), now=NOW)
    draft.delete_rrset(author=bob, zone=zone, name=f"mail.{ZONE}", type=1, now=NOW)
    pairs = [Pair(f"a.{ZONE}", "192.0.2.1"), WWW, Pair(f"mail.{ZONE}", "192.0.2.9")]
    assert states(bob, *pairs) == [State.OTHER, State.OTHER, State.LEFT]
    pointers.bring_in_step(author=bob, pairs=pairs, now=NOW)
    assert drafted(bob) == {
        f"a.{ZONE}": "192.0.2.1",
        f"mail.{ZONE}": "",
        f"1.{REVERSE}": f"a.{ZONE}",
        f"9.{REVERSE}": "old.example.net.",
    }


def test_one_of_several_names_is_enough_for_an_address(bob: User, zone: Zone, make_zone: MakeZone) -> None:
    make_zone("1 900 PTR www.example.test.", name=REVERSE)
    draft.replace_rrset(author=bob, zone=zone, rrset=rr("a 300 A 192.0.2.1"), now=NOW)
    shared = Pair(f"a.{ZONE}", "192.0.2.1")
    assert states(bob, shared, WWW) == [State.SHARED, State.AGREES]
    assert pointers.bring_in_step(author=bob, pairs=[shared], now=NOW).count == 0
    pointers.bring_in_step(author=bob, pairs=[shared], now=NOW, take_over=True)
    assert drafted(bob)[f"1.{REVERSE}"] == shared.name


def test_what_nobody_here_can_know_stays(bob: User, zone: Zone, make_zone: MakeZone) -> None:
    targets = ("host.elsewhere.", f"a.cut.{ZONE}", f"alias.{ZONE}", f"any.w.{ZONE}", f"gone.{ZONE}")
    make_zone(*(f"{at} 60 PTR {target}" for at, target in enumerate(targets)), name=REVERSE)
    for line in ("cut 60 NS ns.elsewhere.", "alias 60 ALIAS host.elsewhere.", "*.w 60 A 192.0.2.3"):
        draft.replace_rrset(author=bob, zone=zone, rrset=rr(line), now=NOW)
    pairs = [Pair(target, f"192.0.2.{at}") for at, target in enumerate(targets)]
    assert states(bob, *pairs) == [*[State.ELSEWHERE] * 3, State.AGREES, State.LEFT]


def test_what_is_about_to_be_drafted_counts(bob: User, zone: Zone, make_zone: MakeZone) -> None:
    make_zone(name=REVERSE)
    new = rr("new 300 A 192.0.2.4")
    [step] = pointers.steps_of(author=bob, pairs=pointers.pairs_of(new), afters={(new.name, new.type): new})
    assert (step.state, step.ttl) == (State.MISSING, 300)


def test_wildcards_and_what_is_disabled_have_no_ptr() -> None:
    assert pointers.pairs_of(rr("* 60 A 192.0.2.1"), None, rr("@ 60 MX 10 mail")) == []
    off = rr("b 60 A 192.0.2.2 | 192.0.2.3", disabled=("192.0.2.3",))
    assert pointers.pairs_of(off) == [Pair(f"b.{ZONE}", "192.0.2.2")]


@pytest.mark.parametrize(
    ("zones", "place"),
    [
        (["168.192.in-addr.arpa."], ("1.1.168.192.in-addr.arpa.", "168.192.in-addr.arpa.")),
        (
            ["168.192.in-addr.arpa.", "1.168.192.in-addr.arpa."],
            ("1.1.168.192.in-addr.arpa.", "1.168.192.in-addr.arpa."),
        ),
        (["0/26.1.168.192.in-addr.arpa."], ("1.0/26.1.168.192.in-addr.arpa.", "0/26.1.168.192.in-addr.arpa.")),
        (["0-26.1.168.192.in-addr.arpa."], ("1.0-26.1.168.192.in-addr.arpa.", "0-26.1.168.192.in-addr.arpa.")),
        (["64/26.1.168.192.in-addr.arpa."], ("1.1.168.192.in-addr.arpa.", None)),
        (
            ["1.168.192.in-addr.arpa.", "0/26.1.168.192.in-addr.arpa."],
            ("1.0/26.1.168.192.in-addr.arpa.", "0/26.1.168.192.in-addr.arpa."),
        ),
        ([], ("1.1.168.192.in-addr.arpa.", None)),
    ],
    ids=["slash-16", "slash-24", "classless", "classless-hyphen", "other-classless", "both", "none"],
)
def test_the_closest_zone_has_the_ptr(
    bob: User, make_zone: MakeZone, zones: list[str], place: tuple[str, str | None]
) -> None:
    for name in zones:
        make_zone(name=name)
    found = pointers.places_of(bob, {"192.168.1.1"})["192.168.1.1"]
    assert (found.owner, found.zone.name if found.zone else None) == place


def test_a_cname_of_the_zone_above_says_where_the_ptr_stands(bob: User, make_zone: MakeZone) -> None:
    make_zone("1 60 CNAME 1.customer.example.", "2 60 CNAME 2.elsewhere.", "3 60 PTR a.example.", name=REVERSE)
    customer = make_zone("1 60 PTR host.example.", name="customer.example.")
    make_zone(name=f"0/25.{REVERSE}")
    found = pointers.places_of(bob, {"192.0.2.1", "192.0.2.2", "192.0.2.3"})
    assert (found["192.0.2.1"].zone, found["192.0.2.1"].targets) == (customer, ("host.example.",))
    assert found["192.0.2.2"].zone is None
    assert found["192.0.2.3"].owner == f"3.{REVERSE}", "it has the PTR, and no CNAME"


def test_ipv6_and_what_is_delegated_away(bob: User, make_zone: MakeZone) -> None:
    make_zone("1.0.0.0 60 NS ns.elsewhere.", name="8.b.d.0.1.0.0.2.ip6.arpa.")
    found = pointers.places_of(bob, {"2001:db8:1::1", "2001:db8:1000::1"})
    assert found["2001:db8:1000::1"].zone is not None
    assert found["2001:db8:1::1"].zone is None, "the servers of others answer for it"


@pytest.mark.parametrize(
    ("grant", "state"),
    [
        (Grant(RECORD_RIGHTS | {Right.READ}), State.MISSING),
        (Grant(frozenset({Right.READ})), State.NO_RIGHT),
        (None, State.NO_ZONE),
    ],
    ids=["may-edit", "may-read", "may-not-know"],
)
def test_what_a_person_may_not_know_of_is_not_there(
    zone: Zone, make_zone: MakeZone, grant: Grant | None, state: State
) -> None:
    reverse = make_zone(name=REVERSE)
    nick = make_person("nick", Role.MEMBER)
    everything = Grant(RECORD_RIGHTS | {Right.READ}).to_json() | {"zones": [zone.pk]}
    GrantRow.objects.create(user=nick, grant=everything, created_at=NOW)
    if grant is not None:
        GrantRow.objects.create(user=nick, grant=grant.to_json() | {"zones": [reverse.pk]}, created_at=NOW)
    assert states(nick, WWW) == [state]
    assert bool(pointers.bring_in_step(author=nick, pairs=[WWW], now=NOW).count) is (state == State.MISSING)


def test_a_grant_that_ends_at_some_names_is_told(zone: Zone, make_zone: MakeZone) -> None:
    reverse = make_zone(name=REVERSE)
    nick = make_person("nick", Role.MEMBER)
    for each, names in ((zone, ()), (reverse, ("7",))):
        grant = Grant(RECORD_RIGHTS | {Right.READ}, names=names).to_json() | {"zones": [each.pk]}
        GrantRow.objects.create(user=nick, grant=grant, created_at=NOW)
    made = pointers.bring_in_step(author=nick, pairs=[WWW], now=NOW)
    assert (made.count, made.refused) == (0, 1)


def test_many_addresses_cost_what_one_does(
    bob: User,
    zone: Zone,
    make_zone: MakeZone,
    django_assert_num_queries: Callable[[int], AbstractContextManager[object]],
) -> None:
    make_zone(*(f"{n} 60 CNAME {n}.0/25" for n in range(1, 120)), name=REVERSE)
    make_zone(name=f"0/25.{REVERSE}")
    with django_assert_num_queries(8):
        states(bob, WWW)
    with django_assert_num_queries(8):
        found = states(bob, *(Pair(f"h{n}.{ZONE}", f"192.0.2.{n}") for n in range(1, 120)))
    assert found == [State.AGREES] * 119, "no name has these, and no PTR says so"
