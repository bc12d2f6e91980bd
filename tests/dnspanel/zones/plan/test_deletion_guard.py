"""The guard against mass deletion. It stops the deletion of many zones unless a person confirms it."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from dnspanel.accounts.actors.actors import EVERY_RIGHT, Author, Grant, Right, actor_of_token
from dnspanel.accounts.errors import TokenRefused
from dnspanel.accounts.models import Token, User
from dnspanel.accounts.tokens.token_terms import TokenTerms
from dnspanel.accounts.tokens.tokens import create_token
from dnspanel.zones.acting import Acting
from dnspanel.zones.errors import MassDeletion, RevisionMoved
from dnspanel.zones.models import Channel, Zone
from dnspanel.zones.plan import deletion_guard
from dnspanel.zones.publishing import bulk, edit
from tests.people import make_person

pytestmark = pytest.mark.django_db(transaction=True)

ZONES = 60
FEW = deletion_guard.MASS_FEW


@pytest.fixture
def alice() -> User:
    return make_person("alice", role="administrator")


@pytest.fixture(autouse=True)
def zones(alice: User) -> list[Zone]:
    names = [edit.NewZone(f"z{number:02}.test.") for number in range(ZONES)]
    edit.create_zones(zones=names, acting=Acting(alice, Channel.API, timezone.now()))
    return list(Zone.objects.order_by("name"))


def delete(zone: Zone, author: Author, *, confirmed: bool = False, ago: timedelta = timedelta(0)) -> None:
    now = timezone.now() - ago
    edit.delete_zone(zone=zone, acting=Acting(author, Channel.API, now), confirmed=confirmed)


def alive() -> int:
    return Zone.objects.filter(deleted_at=None).count()


def token_of(owner: User, **terms: Any) -> Author:
    everything = (Grant(EVERY_RIGHT, everywhere=True),)
    made = create_token(owner=owner, terms=TokenTerms("terraform", everything, **terms), by=owner, now=timezone.now())
    return actor_of_token(Token.objects.get(pk=made.token.pk))


def test_a_few_one_after_another_are_free_and_the_next_is_held(zones: list[Zone], alice: User) -> None:
    """Previously the limit was 10 deletions, on all panels with fewer than 1,000 zones."""
    for zone in zones[:FEW]:
        delete(zone, alice)
    with pytest.raises(MassDeletion) as caught:
        delete(zones[FEW], alice)
    assert str(caught.value) == (
        "This would delete 1 of 35 zones, in addition to 25 deleted in the last 10 minutes. Someone must confirm "
        "deleting more than 25 zones within 10 minutes. Nothing was deleted."
    )
    assert caught.value.total == FEW + 1
    assert alive() == ZONES - FEW
    delete(zones[FEW], alice, confirmed=True)
    assert alive() == ZONES - FEW - 1


def test_what_others_did_or_what_was_long_ago_does_not_count(zones: list[Zone], alice: User) -> None:
    for zone in zones[:8]:
        delete(zone, alice, ago=deletion_guard.MASS_WINDOW + timedelta(minutes=1))
    bob = make_person("bob", role="administrator")
    for zone in zones[8:18]:
        delete(zone, bob)
    for zone in zones[18 : 18 + FEW]:
        delete(zone, alice)
    assert alive() == ZONES - 18 - FEW


def test_each_token_counts_for_itself(zones: list[Zone], alice: User) -> None:
    one, other = token_of(alice), token_of(alice)
    for zone in zones[:FEW]:
        delete(zone, one)
    with pytest.raises(MassDeletion):
        delete(zones[FEW], one)
    delete(zones[FEW], other)
    delete(zones[FEW + 1], alice)


def test_a_token_that_deletes_many_is_not_held_nor_any_if_the_panel_says_so(
    zones: list[Zone], alice: User, settings: Any
) -> None:
    many, plain = token_of(alice, deletes_many=True), token_of(alice)
    for zone in zones[: FEW + 1]:
        delete(zone, many)
    settings.TOKENS_DELETE_MANY = True
    for zone in zones[FEW + 1 : 2 * FEW + 2]:
        delete(zone, plain)
    for zone in zones[2 * FEW + 2 :]:
        delete(zone, alice)
    with pytest.raises(MassDeletion):  # people have to confirm, regardless of tokens
        deletion_guard.refuse_mass_deletion(author=alice, count=FEW, now=timezone.now())


def test_a_token_makes_none_that_deletes_more_than_itself(alice: User) -> None:
    plain = token_of(alice)
    terms = TokenTerms("child", (Grant(frozenset({Right.DELETE_ZONE}), everywhere=True),), deletes_many=True)
    with pytest.raises(TokenRefused, match="allowed to delete many zones"):
        create_token(owner=alice, terms=terms, by=plain, now=timezone.now())


def test_who_makes_the_same_zone_again_and_again_is_not_held(zones: list[Zone], alice: User) -> None:
    for _ in range(12):
        edit.create_zones(zones=[edit.NewZone("tried.test.")], acting=Acting(alice, Channel.API, timezone.now()))
        delete(Zone.objects.get(name="tried.test.", deleted_at=None), alice)
    for zone in zones[: FEW - 1]:  # the same zone counts once
        delete(zone, alice)
    with pytest.raises(MassDeletion):
        delete(zones[FEW], alice)


def test_many_at_once_are_judged_before_the_first_and_deleted_together(zones: list[Zone], alice: User) -> None:
    wanted = [(zone.pk, zone.revision) for zone in zones[: FEW + 1]]
    with pytest.raises(MassDeletion):
        bulk.delete_zones(zones=wanted, acting=Acting(alice, Channel.API, timezone.now()))
    requested = [edit.ZoneToDelete(zone, zone.revision) for zone in zones[: FEW + 1]]
    with pytest.raises(MassDeletion):
        edit.delete_zones(zones=requested, acting=Acting(alice, Channel.API, timezone.now()))
    assert alive() == ZONES
    stale = [*requested, edit.ZoneToDelete(zones[FEW + 1], 7)]
    with pytest.raises(RevisionMoved):
        edit.delete_zones(zones=stale, acting=Acting(alice, Channel.API, timezone.now()), confirmed=True)
    assert alive() == ZONES
    publication = edit.delete_zones(zones=requested, acting=Acting(alice, Channel.API, timezone.now()), confirmed=True)
    assert publication.revisions.count() == FEW + 1
    bulk.delete_zones(zones=[(zones[-1].pk, 1)], acting=Acting(alice, Channel.API, timezone.now()), confirmed=True)
    assert alive() == ZONES - FEW - 2


def test_the_panel_itself_is_not_guarded(zones: list[Zone]) -> None:
    for zone in zones[: FEW + 1]:
        delete(zone, None)
    assert alive() == ZONES - FEW - 1


def test_one_percent_of_many_zones_is_more_than_a_few(alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deletion_guard, "MASS_FEW", 0)
    monkeypatch.setattr(deletion_guard, "MASS_PERCENT", 10)
    now = timezone.now()
    deletion_guard.refuse_mass_deletion(author=alice, count=6, now=now)  # 6 of 60 are 10 %, which is allowed
    with pytest.raises(MassDeletion):
        deletion_guard.refuse_mass_deletion(author=alice, count=7, now=now)
