"""Tests of a secondary's zones, pending NOTIFY messages and catalog (`secondaries.secondary_catalog`)."""

from dataclasses import replace
from datetime import timedelta

import pytest
from django.db import connection
from django.db.models import F
from django.test.utils import CaptureQueriesContext

from dnspanel.accounts.models import Team, User
from dnspanel.secondaries import members, record, secondary_catalog, set_up_secondaries
from dnspanel.secondaries.models import Member, Secondary
from dnspanel.zones.acting import Acting
from dnspanel.zones.models import Channel, Zone
from dnspanel.zones.publishing import edit
from tests.dnspanel.secondaries.conftest import MakeSecondary
from tests.dnspanel.zones.conftest import MakeZone, rr
from tests.people import NOW
from tests.publishing import change_rrsets

pytestmark = pytest.mark.django_db(transaction=True)

LATER = NOW + timedelta(minutes=1)


def publish(zone: Zone, alice: User, *lines: str) -> None:
    changes = {(rrset.name, rrset.type): rrset for rrset in (rr(line, origin=zone.name) for line in lines)}
    change_rrsets(zone=zone, changes=changes, author=alice, channel=Channel.API, now=NOW)


def test_several_publications_of_a_zone_are_one_notice_to_each_secondary_that_has_it(
    make_zone: MakeZone, alice: User, make_secondary: MakeSecondary
) -> None:
    one, two = make_zone(), make_zone(name="two.test.")
    make_secondary()
    make_secondary("limited", choice="list", zones=[two.name])
    Member.objects.update(notify_at=None, behind_since=None, attempts=3)
    for number in range(5):
        publish(one, alice, f"www 300 A 192.0.2.{number + 10}")
    assert members.note_publications(now=LATER) == 1
    waiting = Member.objects.get(notify_at__isnull=False)
    assert (waiting.secondary.name, waiting.zone, waiting.notify_at, waiting.attempts) == ("partner", one, LATER, 0)
    assert waiting.behind_since == NOW, "since the first of them"
    assert members.note_publications(now=LATER) == 0


def test_what_was_fetched_already_is_not_told_again(make_zone: MakeZone, alice: User, secondary: Secondary) -> None:
    """In a burst of edits, the secondary fetches the last one after the NOTIFY for the first."""
    zone = make_zone()
    members.note_publications(now=NOW)
    publish(zone, alice, "www 300 A 192.0.2.10")
    zone.refresh_from_db()
    record.note_transfer(
        secondary_id=secondary.pk, zone_id=zone.pk, carried=record.CompletedTransfer(zone.serial, "IXFR", 100), now=NOW
    )
    assert members.note_publications(now=LATER) == 0
    member = Member.objects.get()
    assert (member.notify_at, member.behind_since) == (None, None)


def test_without_a_secondary_that_is_active_there_is_one_query(
    make_zone: MakeZone, alice: User, make_secondary: MakeSecondary
) -> None:
    make_secondary(active=False)
    make_zone()
    with CaptureQueriesContext(connection) as queries:
        assert members.note_publications(now=NOW) == 0
    assert len([query for query in queries if "SELECT" in query["sql"]]) == 1


def test_zones_come_and_go_and_a_tag_is_followed(
    make_zone: MakeZone, alice: User, make_secondary: MakeSecondary
) -> None:
    zone = make_zone()
    secondary = make_secondary(choice="tag", tag="shop")
    serial = Secondary.objects.get().catalog_serial
    assert not members.follow(secondary_id=secondary.pk, now=NOW)
    assert Secondary.objects.get().catalog_serial == serial, "nothing moved"
    Zone.objects.filter(pk=zone.pk).update(tags=["shop"])
    assert members.follow(secondary_id=secondary.pk, now=NOW)
    (first,) = secondary_catalog.members_of(secondary)
    assert first.rdata == (zone.name,)
    Zone.objects.filter(pk=zone.pk).update(tags=[])
    assert members.follow(secondary_id=secondary.pk, now=NOW)
    assert list(secondary_catalog.members_of(secondary)) == []
    Zone.objects.filter(pk=zone.pk).update(tags=["shop"])
    assert members.follow(secondary_id=secondary.pk, now=NOW)
    (again,) = secondary_catalog.members_of(secondary)
    assert again.name != first.name
    secondary.refresh_from_db()
    assert secondary.catalog_serial == serial + 3
    assert secondary_catalog.changes_since(secondary, serial, most=10) == ([], [again]), (
        "what came and went is not told"
    )
    assert secondary_catalog.changes_since(secondary, serial + 1, most=10) == ([first], [again])
    assert secondary_catalog.changes_since(secondary, serial + 1, most=1) is None
    assert secondary_catalog.changes_since(secondary, serial + 4, most=10) is None


def test_a_zone_that_moves_to_another_catalog_of_its_server_keeps_its_label_and_the_old_one_says_where_it_is(
    make_zone: MakeZone, make_secondary: MakeSecondary
) -> None:
    zone = make_zone()
    Zone.objects.filter(pk=zone.pk).update(tags=["gold"])
    gold, silver = (
        make_secondary("gold", choice="tag", tag="gold"),
        make_secondary("silver", choice="tag", tag="silver"),
    )
    make_secondary("elsewhere", addresses=["9.9.9.10"], choice="tag", tag="silver")
    (before,) = secondary_catalog.members_of(gold)
    Zone.objects.filter(pk=zone.pk).update(tags=["silver"])
    members.follow(secondary_id=silver.pk, now=NOW)  # in either order
    gold.refresh_from_db()
    assert gold.catalog_floor == gold.catalog_serial, "its coo is new to who follows it"
    for host in (gold, silver):
        assert not members.follow(secondary_id=host.pk, now=NOW)
    label = before.name.partition(".")[0]
    pointer, coo = secondary_catalog.members_of(gold)
    assert pointer == before
    assert (coo.name, coo.rdata) == (f"coo.{before.name}", (secondary_catalog.catalog_name(silver),))
    assert not list(secondary_catalog.members_of(silver)), "the server does not know yet where it goes"
    record.note_catalog(secondary_id=gold.pk, serial=gold.catalog_serial - 1)
    assert not members.follow(secondary_id=silver.pk, now=NOW)
    record.note_catalog(secondary_id=gold.pk, serial=gold.catalog_serial)
    assert members.follow(secondary_id=silver.pk, now=NOW)
    silver.refresh_from_db()
    assert silver.catalog_floor < silver.catalog_serial
    (moved,) = secondary_catalog.members_of(silver)
    assert moved.name == f"{label}.zones.{secondary_catalog.catalog_name(silver)}"
    members.follow(secondary_id=Secondary.objects.get(name="elsewhere").pk, now=NOW)
    other = Member.objects.get(secondary__name="elsewhere")
    assert other.label != label, "another server begins it anew"
    leaving = Member.objects.get(secondary=gold)
    assert (leaving.notify_at, leaving.question_at, leaving.behind_since) == (None, None, None)
    members.notify_all(secondary_id=gold.pk, now=NOW)
    leaving.refresh_from_db()
    assert leaving.notify_at is None
    assert members.follow(secondary_id=gold.pk, now=NOW + members.SAYS_WHERE)
    assert list(secondary_catalog.members_of(gold)) == []
    gold.refresh_from_db()
    assert secondary_catalog.changes_since(gold, gold.catalog_serial - 1, most=10) == ([pointer, coo], [])
    later = NOW + members.SAYS_WHERE
    assert not members.follow(secondary_id=silver.pk, now=later), "the server does not know yet that it is dropped"
    record.note_catalog(secondary_id=gold.pk, serial=gold.catalog_serial)
    assert members.follow(secondary_id=silver.pk, now=later)
    silver.refresh_from_db()
    assert silver.catalog_floor == silver.catalog_serial, "who passed over it takes it now"
    assert list(secondary_catalog.members_of(silver)) == [moved]
    for host in (gold, silver):
        assert not members.follow(secondary_id=host.pk, now=later + members.SAYS_WHERE)


def test_a_zone_that_moves_back_is_a_member_as_before(make_zone: MakeZone, make_secondary: MakeSecondary) -> None:
    zone = make_zone()
    Zone.objects.filter(pk=zone.pk).update(tags=["gold"])
    gold, silver = (
        make_secondary("gold", choice="tag", tag="gold"),
        make_secondary("silver", choice="tag", tag="silver"),
    )
    before = list(secondary_catalog.members_of(gold))
    for tag in ("silver", "gold"):
        Zone.objects.filter(pk=zone.pk).update(tags=[tag])
        for host in (gold, silver):
            members.follow(secondary_id=host.pk, now=NOW)
        if tag == "silver":  # although the secondary hasn't read the move yet
            assert members.follow(secondary_id=silver.pk, now=NOW + members.UNTIL_READ)
    assert list(secondary_catalog.members_of(gold)) == before
    assert [rrset.rdata for rrset in secondary_catalog.members_of(silver)] == [
        (zone.name,),
        (secondary_catalog.catalog_name(gold),),
    ]
    for host in (gold, silver):
        members.follow(secondary_id=host.pk, now=NOW + members.SAYS_WHERE)
    Zone.objects.filter(pk=zone.pk).update(tags=["silver"])
    for host in (gold, silver, silver):
        members.follow(secondary_id=host.pk, now=NOW + 2 * members.SAYS_WHERE)
        Secondary.objects.update(catalog_fetched=F("catalog_serial"))
    labels = Member.objects.filter(secondary=silver).values_list("label", flat=True)
    assert len(set(labels)) == 2, "no label of a catalog is used twice"


def test_of_many_new_zones_the_catalog_alone_tells_and_they_are_asked_for_one_by_one(
    make_zone: MakeZone, make_secondary: MakeSecondary, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(41):
        make_zone(name=f"z{number}.test.")
    monkeypatch.setattr(members, "MOST_NOTIFIED", 40)
    make_secondary()
    assert not Member.objects.exclude(notify_at=None).exists()
    assert len(set(Member.objects.values_list("label", flat=True))) == 41
    due = sorted(at for at in Member.objects.values_list("question_at", flat=True) if at is not None)
    assert timedelta(seconds=1.9) < due[-1] - due[0] < timedelta(seconds=2.1)
    assert due[0] < NOW


def test_a_team_that_is_gone_leaves_its_secondary_without_zones(
    make_zone: MakeZone, make_secondary: MakeSecondary
) -> None:
    """The secondary must not get the zones without a team."""
    make_zone()
    team = Team.objects.create(name="Shop", created_at=NOW)
    secondary = make_secondary(choice="team", team=team.pk)
    team.delete()
    members.follow(secondary_id=secondary.pk, now=NOW)
    assert not Member.objects.exists()


def test_what_went_long_ago_is_forgotten_and_then_the_whole_catalog_is_sent(
    make_zone: MakeZone, alice: User, make_secondary: MakeSecondary, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(members, "MOST_GONE", 1)
    zone = make_zone()
    secondary = make_secondary(choice="tag", tag="shop")
    start = Secondary.objects.get().catalog_serial
    for number in range(4):
        Zone.objects.filter(pk=zone.pk).update(tags=["shop"] if number % 2 == 0 else [])
        members.follow(secondary_id=secondary.pk, now=NOW)
    secondary.refresh_from_db()
    assert Member.objects.count() == 1
    assert secondary_catalog.changes_since(secondary, start, most=10) is None
    assert secondary_catalog.changes_since(secondary, secondary.catalog_serial - 1, most=10) is not None


def test_a_zone_that_left_the_trash_for_good_leaves_its_catalog_entry(
    make_zone: MakeZone, alice: User, secondary: Secondary
) -> None:
    zone = make_zone()
    members.note_publications(now=NOW)
    edit.delete_zone(zone=zone, acting=Acting(alice, Channel.WEB, NOW))
    Zone.objects.filter(pk=zone.pk).delete()
    members.follow(secondary_id=secondary.pk, now=NOW)
    gone = Member.objects.get()
    assert (gone.zone, gone.zone_name) == (None, "example.test.")
    assert gone.until is not None


def test_one_that_is_switched_on_again_is_told_of_everything(
    make_zone: MakeZone, alice: User, make_secondary: MakeSecondary
) -> None:
    zone = make_zone()
    secondary = make_secondary(active=False)
    Member.objects.update(notify_at=None)
    publish(zone, alice, "www 300 A 192.0.2.10")
    assert members.note_publications(now=NOW) == 0
    terms = set_up_secondaries.terms_of(secondary)
    set_up_secondaries.change_secondary(
        secondary=secondary,
        terms=set_up_secondaries.Terms(terms.name, terms.addresses, active=True),
        by=alice,
        now=LATER,
    )
    assert Member.objects.get().notify_at == LATER


def test_a_member_is_in_the_group_of_its_first_tag_and_whoever_follows_the_catalog_gets_all_of_it_then(
    make_zone: MakeZone, make_secondary: MakeSecondary, alice: User
) -> None:
    first, second, _ = make_zone(name="first.test."), make_zone(name="second.test."), make_zone(name="third.test.")
    Zone.objects.filter(pk=first.pk).update(tags=["cold", "hot"])
    Zone.objects.filter(pk=second.pk).update(tags=["cold", "other"])
    secondary = make_secondary(group_tags=["Hot", "cold"])

    def groups() -> dict[str, str]:
        texts = {rrset.name: rrset.rdata[0] for rrset in secondary_catalog.members_of(secondary)}
        return {
            name.removeprefix("group.").split(".")[0]: text for name, text in texts.items() if name.startswith("group.")
        }

    labels = dict(Member.objects.values_list("zone_name", "label"))
    assert groups() == {labels[first.name]: '"hot"', labels[second.name]: '"cold"'}
    secondary.refresh_from_db()
    serial = secondary.catalog_serial
    assert secondary_catalog.changes_since(secondary, serial, most=10) == ([], [])
    assert not members.follow(secondary_id=secondary.pk, now=LATER)
    Zone.objects.filter(pk=first.pk).update(tags=["cold"])
    assert members.follow(secondary_id=secondary.pk, now=LATER)
    secondary.refresh_from_db()
    assert groups()[labels[first.name]] == '"cold"'
    assert dict(Member.objects.values_list("zone_name", "label")) == labels, "nobody begins the zones anew"
    assert (secondary.catalog_serial, secondary.catalog_notify_at) == (serial + 1, LATER)
    assert secondary_catalog.changes_since(secondary, serial, most=10) is None
    came = make_zone(name="came.test.")
    Zone.objects.filter(pk=came.pk).update(tags=["hot"])
    assert members.follow(secondary_id=secondary.pk, now=LATER)
    secondary.refresh_from_db()
    _, added = secondary_catalog.changes_since(secondary, serial + 1, most=10) or ([], [])
    assert [rrset.rdata for rrset in added] == [("came.test.",), ('"hot"',)]
    terms = set_up_secondaries.terms_of(secondary)
    set_up_secondaries.change_secondary(secondary=secondary, terms=replace(terms, group_tags=()), by=alice, now=LATER)
    assert groups() == {}
