"""Many zones restored from the trash in one publication. An obstacle to one zone affects only that zone."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from threading import Thread
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from dnspanel.accounts.actors.actors import Grant, Right, actor_of_token
from dnspanel.accounts.models import Membership, Role, Team, User
from dnspanel.accounts.quotas.quota_amounts import Kind
from dnspanel.accounts.quotas.quota_edit import set_quotas
from dnspanel.accounts.tokens.token_terms import TokenTerms
from dnspanel.accounts.tokens.tokens import create_token
from dnspanel.publish.gone_zones import delete_for_good
from dnspanel.zones.acting import Acting
from dnspanel.zones.dnssec.queries import signing_of
from dnspanel.zones.errors import Forbidden, PublishingOnHold
from dnspanel.zones.governance import publish_rules
from dnspanel.zones.governance.publish_rules import FreezeTimes, Scope
from dnspanel.zones.lists.selection import TooMany
from dnspanel.zones.log import publish_hold
from dnspanel.zones.models import Channel, Publication, Revision, RRset, Zone, ZoneKey
from dnspanel.zones.publishing import bulk, edit, ready_zones, restore_zones
from dnspanel.zones.publishing.restore_zones import Restored, TrashSelection
from dnspanel.zones.signals import room_requested
from dnspanel.zones.signing import sign
from replication.dns import rdtypes
from tests.dnspanel.web.zones.test_trash import encode_and_link
from tests.dnspanel.zones.conftest import MakeZone, presigned_zone
from tests.people import NOW, make_person

pytestmark = pytest.mark.django_db(transaction=True)

LATER = NOW + timedelta(hours=1)


def delete(*zones: Zone, at: datetime = NOW) -> Publication:
    """Move the zones into the trash with one publication, and return it."""
    rows = [(zone.pk, Zone.objects.get(pk=zone.pk).revision) for zone in zones]
    publication, left = bulk.delete_zones(zones=rows, acting=Acting(None, Channel.WEB, at, "script"), confirmed=True)
    assert publication is not None
    assert left == []
    return publication


def restored(zones: Sequence[Zone], author: User | None, **more: Any) -> Restored:
    return restore_zones.restore_zones(zones=zones, acting=Acting(author, Channel.WEB, LATER, **more))


def living() -> list[str]:
    return list(Zone.objects.filter(deleted_at=None).order_by("name").values_list("name", flat=True))


def others_than_soa() -> list[tuple[Any, ...]]:
    rows = RRset.objects.exclude(type=rdtypes.SOA).order_by("zone", "owner_key", "type")
    return list(rows.values_list("zone", "name", "type", "rdata"))


def refusals(found: Restored) -> dict[str, str]:
    return {zone.name: reason for zone, reason in found.outcome.refused}


@pytest.fixture
def three(make_zone: MakeZone) -> list[Zone]:
    """Create three zones with an address at www."""
    return [make_zone("www 300 A 192.0.2.1", name=f"{word}.test.") for word in ("one", "two", "three")]


def test_zones_come_back_as_one_publication_each_as_it_was_with_a_higher_serial(three: list[Zone], bob: User) -> None:
    before = others_than_soa()
    delete(*three)
    done = restored(three, bob, reason="not meant")
    (publication,) = done.publications
    assert (publication.reason, publication.author) == ("not meant", bob)
    assert living() == ["one.test.", "three.test.", "two.test."]
    assert others_than_soa() == before
    rows = Revision.objects.filter(publication=publication).values_list("kind", "number", "serial")
    assert list(rows) == [("restore", 3, 2)] * 3
    soas = RRset.objects.filter(type=rdtypes.SOA).values_list("rdata", flat=True)
    assert {rdata[0].split()[2] for rdata in soas} == {"2"}
    again = restored(three, bob)
    assert (again.publications, again.outcome.unchanged, again.outcome.changed) == ([], 3, [])


def test_many_zones_take_no_more_queries_than_few(make_zone: MakeZone, bob: User) -> None:
    counts = []
    for number in (2, 12):
        zones = [make_zone(name=f"z{each}.of{number}.test.") for each in range(number)]
        delete(*zones)
        with CaptureQueriesContext(connection) as captured:
            assert len(restored(zones, bob).outcome.changed) == number
        counts.append(len(captured))
    assert counts[0] == counts[1]


def test_the_same_form_sent_twice_is_one_publication(three: list[Zone], bob: User) -> None:
    delete(*three)
    form_id = uuid4()
    first = restored(three, bob, form_id=form_id)
    second = restored(three, bob, form_id=form_id)
    assert [each.sequence for each in second.publications] == [each.sequence for each in first.publications]
    assert {zone.pk for zone in second.outcome.changed} == {zone.pk for zone in three}


def test_a_name_that_is_taken_keeps_only_that_zone_back(three: list[Zone], make_zone: MakeZone, bob: User) -> None:
    delete(*three)
    make_zone(name="two.test.")
    done = restored(three, bob)
    assert refusals(done) == {"two.test.": "The zone two.test. already exists."}
    assert len(done.publications) == 1
    assert Zone.objects.exclude(deleted_at=None).get().pk == three[1].pk


def test_of_two_zones_of_one_name_the_one_deleted_last_comes_back(make_zone: MakeZone, bob: User) -> None:
    older = make_zone(name="one.test.")
    delete(older)
    newer = make_zone("www 300 A 192.0.2.2", name="one.test.")
    delete(newer, at=NOW + timedelta(minutes=1))
    done = restored([older, newer], bob)
    assert [zone.pk for zone in done.outcome.changed] == [newer.pk]
    assert "deleted later" in refusals(done)["one.test."]


def test_who_may_not_restore_a_zone_is_told_so_and_the_others_come_back(three: list[Zone], db: None) -> None:
    team = Team.objects.create(name="Alpha", created_at=NOW)
    carol = make_person("carol", Role.MEMBER)
    Membership.objects.create(team=team, user=carol, role=Role.EDITOR)
    Zone.objects.filter(pk__in=[three[0].pk, three[2].pk]).update(team=team)
    delete(*three)
    done = restored(three, User.objects.get(pk=carol.pk))
    assert list(refusals(done)) == ["two.test."]
    assert living() == ["one.test.", "three.test."]


def test_a_token_needs_the_right_to_restore(three: list[Zone], bob: User) -> None:
    """Previously a narrow token could restore zones that its owner had deleted."""
    delete(*three)
    grant = Grant(frozenset({Right.READ, Right.CHANGE}), everywhere=True)
    made = create_token(owner=bob, terms=TokenTerms(purpose="x", scope=(grant,)), by=bob, now=NOW)
    actor = actor_of_token(made.token)
    assert actor is not None
    with pytest.raises(Forbidden):
        restore_zones.selected_from_trash(TrashSelection(), actor)
    done = restore_zones.restore_zones(zones=three, acting=Acting(actor, Channel.API, LATER))
    assert (done.publications, len(done.outcome.refused)) == ([], 3)


def test_a_frozen_zone_stays_with_the_reason(three: list[Zone], alice: User, bob: User) -> None:
    delete(*three)
    publish_rules.add_freeze(
        scope=Scope(zone=three[0]),
        times=FreezeTimes(starts_at=NOW, ends_at=NOW + timedelta(days=1)),
        reason="Year's end",
        author=alice,
        now=NOW,
    )
    done = restored(three, bob)
    assert "is frozen until" in refusals(done)["one.test."]
    assert living() == ["three.test.", "two.test."]


def test_as_many_come_back_as_the_quota_has_room_for(make_zone: MakeZone, three: list[Zone], bob: User) -> None:
    delete(*three)
    make_zone(name="four.test.")
    creator = User.objects.get(pk=three[0].created_by_id)
    set_quotas(of=creator, quotas={Kind.ZONES: 2}, by=None, now=NOW)
    done = restored(three, bob)
    assert (len(done.outcome.changed), len(done.outcome.refused)) == (1, 2)
    assert "requested 1" in next(iter(refusals(done).values()))
    assert Zone.objects.filter(deleted_at=None).count() == 2


def test_zones_of_others_around_it_keep_a_zone_back(three: list[Zone], make_zone: MakeZone) -> None:
    team = Team.objects.create(name="Alpha", created_at=NOW)
    carol = make_person("carol", Role.MEMBER)
    Membership.objects.create(team=team, user=carol, role=Role.EDITOR)
    Zone.objects.filter(pk__in=[zone.pk for zone in three]).update(team=team)
    delete(*three)
    make_zone(name="www.two.test.")  # another person's zone
    done = restored(three, User.objects.get(pk=carol.pk))
    assert "above another team’s zone" in refusals(done)["two.test."]
    assert living() == ["one.test.", "three.test.", "www.two.test."]


def test_parent_and_child_with_their_keys_come_back_together(make_zone: MakeZone, bob: User) -> None:
    acting = Acting(None, Channel.SYSTEM, NOW)
    child = make_zone("www 300 A 192.0.2.1", name="child.parent.test.")
    sign.sign(zones=[child], acting=acting)
    keys = {key.pk for key in ZoneKey.objects.filter(zone=child, deleted_at=None)}
    parent = make_zone("child 3600 NS ns1.example.net.", name="parent.test.")
    before = signing_of(child)
    delete(child, parent)
    done = restored([child, parent], bob)
    assert (len(done.publications), done.outcome.refused) == (1, [])
    assert signing_of(child) == before
    assert {key.pk for key in ZoneKey.objects.filter(zone=child, deleted_at=None)} == keys


def test_a_zone_under_a_ds_that_fits_no_key_stays_and_the_others_come_back(
    three: list[Zone], make_zone: MakeZone, bob: User
) -> None:
    ds = "DS 1 13 2 " + "00" * 32
    low = make_zone(name="low.high.test.")
    delete(*three, low)
    make_zone("low 3600 NS ns1.example.net.", f"low 3600 {ds}", name="high.test.")
    done = restored([*three, low], bob)
    assert "has a DS for" in refusals(done)["low.high.test."]
    assert len(done.outcome.changed) == 3


def test_the_serial_of_a_presigned_zone_stays(bob: User, three: list[Zone]) -> None:
    zone = presigned_zone(bob, name="signed.test.")
    delete(zone, *three)
    assert len(restored([zone, *three], bob).outcome.changed) == 4
    assert Zone.objects.get(pk=zone.pk).serial == zone.serial


def test_what_has_left_the_trash_for_good_is_told(three: list[Zone], bob: User) -> None:
    publication = delete(*three)
    encode_and_link()
    delete_for_good(zone=three[1], author=bob, now=LATER)
    assert restore_zones.gone_for_good(publication) == ["two.test."]
    done = restored(three, bob)
    assert refusals(done) == {"two.test.": "The zone was permanently deleted."}
    assert len(done.outcome.changed) == 2


def test_thousands_come_back_in_pieces_and_the_answer_names_each(
    make_zone: MakeZone, bob: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(restore_zones, "PIECE_ZONES", 2)
    zones = [make_zone(name=f"z{number}.test.") for number in range(5)]
    delete(*zones)
    form_id = uuid4()
    done = restored(zones, bob, form_id=form_id)
    assert [each.revisions.count() for each in done.publications] == [2, 2, 1]
    assert done.last is not None
    assert Publication.objects.get(form_id=form_id) == done.last
    assert len(done.outcome.changed) == 5
    # They are parts of one write, and the same form returns all of them again.
    assert {each.part_of for each in Publication.objects.filter(pk__in=[each.pk for each in done.publications])} == {
        done.publications[0].pk
    }
    again = restored(zones, bob, form_id=form_id)
    assert (again.publications, len(again.outcome.changed)) == (done.publications, 5)


def test_a_large_zone_is_a_piece_of_its_own(three: list[Zone], bob: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(restore_zones, "PIECE_RRSETS", 7)
    delete(*three)
    assert [each.revisions.count() for each in restored(three, bob).publications] == [2, 1]


def test_a_hold_in_the_middle_leaves_the_rest_in_the_trash(
    three: list[Zone], bob: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    delete(*three)
    monkeypatch.setattr(restore_zones, "PIECE_ZONES", 1)

    def hold_publishing(**signal: Any) -> bool:
        publish_hold.hold(reason="a node is ahead", now=NOW)
        return True

    room_requested.connect(hold_publishing)
    try:
        done = restored(three, bob)
    finally:
        room_requested.disconnect(hold_publishing)
    assert (len(done.publications), len(living())) == (1, 1)
    assert [("a node is ahead" in reason) for _, reason in done.outcome.refused] == [True, True]
    with pytest.raises(PublishingOnHold):
        restored(three, bob)


def test_a_preview_writes_nothing_and_says_the_same(three: list[Zone], make_zone: MakeZone, bob: User) -> None:
    delete(*three)
    make_zone(name="two.test.")
    last = Publication.objects.latest("sequence")
    preview = restore_zones.preview_restore(zones=three, author=bob, now=LATER)
    assert Publication.objects.latest("sequence") == last
    assert living() == ["two.test."]
    done = restored(three, bob)
    assert {zone.pk for zone in preview.changed} == {zone.pk for zone in done.outcome.changed}
    assert [reason for _, reason in preview.refused] == [reason for _, reason in done.outcome.refused]


def test_zones_are_selected_by_what_deleted_them_when_and_by_a_search(
    three: list[Zone], bob: User, charlie: User
) -> None:
    first, second = delete(three[0], three[1]), delete(three[2], at=NOW + timedelta(minutes=5))

    def names(**given: Any) -> set[str]:
        return {zone.name for zone in restore_zones.selected_from_trash(TrashSelection(**given), bob)}

    assert names() == {"one.test.", "two.test.", "three.test."}
    assert names(publication=first.sequence) == {"one.test.", "two.test."}
    assert names(deleted_since=NOW + timedelta(minutes=1)) == {"three.test."}
    assert names(search="t") >= {"two.test.", "three.test."}
    assert names(names=("one.test.",), publication=second.sequence) == set()
    assert names(ids=(three[0].pk,)) == {"one.test."}
    restored(three[:1], bob)
    delete(three[0], at=NOW + timedelta(minutes=9))
    assert names(publication=first.sequence) == {"two.test."}  # another publication has deleted the other zone since
    with pytest.raises(TooMany):
        restore_zones.selected_from_trash(TrashSelection(), bob, most=2)
    with pytest.raises(Forbidden):
        restore_zones.selected_from_trash(TrashSelection(), charlie)


def test_a_name_that_another_takes_in_this_moment_is_looked_at_again(
    three: list[Zone], make_zone: MakeZone, bob: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another request may create one of the names after they were checked and before the rows are written."""
    delete(*three)
    look = ready_zones.existing_zones
    looks: list[int] = []

    def late(names: Sequence[str]) -> dict[str, Any]:
        looks.append(1)
        if len(looks) == 1:
            make_zone_elsewhere(make_zone)
            return {}
        return look(names)

    monkeypatch.setattr(ready_zones, "existing_zones", late)
    done = restored(three, bob)
    assert list(refusals(done)) == ["two.test."]
    assert len(done.outcome.changed) == 2


def make_zone_elsewhere(make_zone: MakeZone) -> None:
    """Create the zone in a thread with a separate connection, as another process would."""

    def create() -> None:
        edit.create_zone(zone=edit.NewZone("two.test."), acting=Acting(None, Channel.API, NOW))
        connection.close()

    thread = Thread(target=create)
    thread.start()
    thread.join(20)
