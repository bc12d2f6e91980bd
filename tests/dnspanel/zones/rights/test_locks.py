"""Locks: the changes they prevent in each way of writing, and the people who place and lift them.

Tests `rights.locks` and `rights.lock_rules`.
"""

from typing import Any

import pytest

from dnspanel.accounts.actors.actors import EVERY_RIGHT, Actor, Grant, SystemRight, actor_of_token
from dnspanel.accounts.models import AuditEntry, User
from dnspanel.accounts.tokens.token_terms import TokenTerms
from dnspanel.accounts.tokens.tokens import create_token, revoke_token
from dnspanel.zones.acting import Acting
from dnspanel.zones.drafts import draft
from dnspanel.zones.errors import Locked, LockRefused, LockUnknown, RightMissing, Unknown
from dnspanel.zones.models import Channel, Lock, Publication, RRset, Zone
from dnspanel.zones.publishing import edit, revision
from dnspanel.zones.publishing.bulk import ZoneChange, change_zones, delete_zones, undo_zone_changes
from dnspanel.zones.publishing.zone_patches import patch_of_steps, publish_patches, remove_rrset, replace_with
from dnspanel.zones.rights.lock_rules import locks_of
from dnspanel.zones.rights.locks import LONGEST_REASON, MOST, NO_MANAGER, Manager, add_lock, lift_lock, manager_of
from replication.dns import rdtypes
from replication.dns.rrset import Change, Key
from tests.dnspanel.zones.conftest import MakeZone, rr
from tests.people import NOW, make_person

pytestmark = pytest.mark.django_db(transaction=True)

WWW = ("www.example.test.", rdtypes.A)
TEXT = ("www.example.test.", rdtypes.TXT)
MAIL = ("mail.example.test.", rdtypes.A)
TERRAFORM = "Managed by Terraform"


@pytest.fixture
def zone(make_zone: MakeZone) -> Zone:
    return make_zone("www 300 A 192.0.2.1", 'www 300 TXT "a"', "mail 300 A 192.0.2.2")


@pytest.fixture
def token(alice: User) -> Actor:
    """Return a token of Alice with all rights."""
    terms = TokenTerms("terraform", (Grant(EVERY_RIGHT, everywhere=True),))
    actor = actor_of_token(create_token(owner=alice, terms=terms, by=alice, now=NOW).token)
    assert actor is not None
    return actor


def lock(
    zone: Zone, key: Key | None = None, *, author: User | Actor | None = None, manager: Manager = NO_MANAGER
) -> Lock:
    name, type_ = key or ("", None)
    return add_lock(zone=zone, name=name, type=type_, reason=TERRAFORM, manager=manager, author=author, now=NOW)


def publish(
    zone: Zone, key: Key, author: User | Actor | None, value: str = "192.0.2.99", under: SystemRight | None = None
) -> None:
    name, type_ = key
    text = f'"{value}"' if type_ == rdtypes.TXT else value
    step = replace_with(rr(f"{name} 60 {'TXT' if type_ == rdtypes.TXT else 'A'} {text}"))
    publish_patches(patches=[patch_of_steps(zone, [(key, step)])], acting=Acting(author, Channel.API, NOW), under=under)


def test_an_rrset_that_is_locked_is_changed_by_its_manager_alone(zone: Zone, alice: User, token: Actor) -> None:
    lock(zone, WWW, author=alice, manager=manager_of(token))
    with pytest.raises(Locked, match=r"^A www\.example\.test is locked: .*\. Only the token terraform"):
        publish(zone, WWW, alice)
    with pytest.raises(Locked):
        draft.replace_rrset(author=alice, zone=zone, rrset=rr("www.example.test. 60 A 192.0.2.9"), now=NOW)
    publish(zone, TEXT, alice)
    publish(zone, MAIL, alice)
    publish(zone, WWW, token)
    with pytest.raises(Locked):
        publish(zone, WWW, None, "192.0.2.98")  # the panel itself manages no lock
    publish(zone, WWW, None, "192.0.2.98", SystemRight.REPAIR)


def test_a_name_and_a_zone_are_locked_with_all_that_they_hold(zone: Zone, make_zone: MakeZone, alice: User) -> None:
    add_lock(zone=zone, name=WWW[0], type=None, reason=TERRAFORM, manager=NO_MANAGER, author=alice, now=NOW)
    for key in (WWW, TEXT):
        with pytest.raises(Locked):
            publish(zone, key, alice)
    publish(zone, MAIL, alice)
    other = make_zone("www 300 A 192.0.2.1", name="other.test.")
    lock(other, author=alice)
    with pytest.raises(Locked, match=r"^A www\.other\.test is locked: Managed by Terraform\.$"):
        publish(other, ("www.other.test.", rdtypes.A), alice)


def test_a_person_who_manages_it_is_not_their_token(zone: Zone, alice: User, token: Actor) -> None:
    lock(zone, WWW, author=alice, manager=manager_of(alice))
    publish(zone, WWW, alice)
    with pytest.raises(Locked):
        publish(zone, WWW, token, "192.0.2.97")


def test_a_lock_is_found_by_what_was_drafted_before_it(zone: Zone, alice: User) -> None:
    draft.replace_rrset(author=alice, zone=zone, rrset=rr("www.example.test. 60 A 192.0.2.9"), now=NOW)
    placed = lock(zone, WWW, author=alice)
    with pytest.raises(Locked):
        revision.publish(
            acting=Acting(alice, Channel.WEB, NOW), zones=[zone], consent=revision.Consent(accept_warnings=True)
        )
    lift_lock(zone=zone, lock_id=placed.pk, author=alice, now=NOW)
    assert revision.publish(
        acting=Acting(alice, Channel.WEB, NOW), zones=[zone], consent=revision.Consent(accept_warnings=True)
    ).sequence


def test_a_zone_with_a_lock_is_not_deleted(zone: Zone, make_zone: MakeZone, alice: User, token: Actor) -> None:
    lock(zone, WWW, author=alice, manager=manager_of(token))
    with pytest.raises(Locked):
        edit.delete_zone(zone=zone, acting=Acting(alice, Channel.WEB, NOW))
    other = make_zone(name="other.test.")
    zones = [(each.pk, Zone.objects.get(pk=each.pk).revision) for each in (zone, other)]
    publication, left = delete_zones(zones=zones, acting=Acting(alice, Channel.WEB, NOW))
    assert publication is not None
    assert left == [zone.pk]
    edit.delete_zone(zone=zone, acting=Acting(token, Channel.API, NOW))


def test_what_is_locked_is_left_alone_by_changes_of_many_zones_and_by_undo(zone: Zone, alice: User) -> None:
    def changed(key: Key, value: str) -> tuple[Publication | None, list[int]]:
        number = Zone.objects.get(pk=zone.pk).revision
        changes = {key: rr(f"{key[0]} 60 A {value}")}
        given = [ZoneChange(zone.pk, number, changes)]
        return change_zones(changes=given, acting=Acting(alice, Channel.IMPORT, NOW))

    before, left = changed(WWW, "192.0.2.50")
    assert (before is not None, left) == (True, [])
    lock(zone, WWW, author=alice)
    assert changed(WWW, "192.0.2.51") == (None, [zone.pk])
    publication, left = changed(MAIL, "192.0.2.52")
    assert (publication is not None, left) == (True, [])
    assert before is not None
    undone, kept = undo_zone_changes(sequence=before.sequence, acting=Acting(alice, Channel.WEB, NOW))
    assert (undone, kept) == (None, [(zone.name, *WWW)])
    terms: dict[str, Any] = {"sequence": before.sequence, "acting": Acting(None, Channel.SYSTEM, NOW)}
    assert undo_zone_changes(**terms) == (None, [(zone.name, *WWW)]), "nobody passes no lock"
    undone, kept = undo_zone_changes(**terms, under=SystemRight.REPAIR)
    assert (undone is not None, kept) == (True, [])


def test_a_zone_without_locks_is_asked_nothing(
    zone: Zone, make_zone: MakeZone, alice: User, django_assert_num_queries: object
) -> None:
    other = make_zone(name="other.test.")
    placed = lock(zone, WWW, author=alice)
    with django_assert_num_queries(0):  # type: ignore[operator]
        assert locks_of(other) == ()
    with django_assert_num_queries(1):  # type: ignore[operator]
        assert [each.what for each in locks_of(zone)] == ["www.example.test. A"]
    lift_lock(zone=zone, lock_id=placed.pk, author=alice, now=NOW)
    assert Zone.objects.get(pk=zone.pk).has_locks is False
    assert zone.has_locks is False


def test_who_may_not_change_settings_places_and_lifts_nothing(zone: Zone, alice: User) -> None:
    reader = make_person("rita", "reader")
    with pytest.raises(RightMissing):
        lock(zone, author=reader)
    placed = lock(zone, author=alice)
    with pytest.raises(RightMissing):
        lift_lock(zone=zone, lock_id=placed.pk, author=reader, now=NOW)
    assert Lock.objects.count() == 1


@pytest.mark.parametrize(
    ("name", "type_", "reason", "field"),
    [
        ("www.other.test.", None, TERRAFORM, "name"),
        ("", rdtypes.A, TERRAFORM, "type"),
        ("www.example.test.", rdtypes.NSEC, TERRAFORM, "type"),
        ("www.example.test.", None, "  ", "reason"),
        ("www.example.test.", None, "x" * (LONGEST_REASON + 1), "reason"),
    ],
)
def test_what_cannot_be_locked(zone: Zone, alice: User, name: str, type_: int | None, reason: str, field: str) -> None:
    with pytest.raises(LockRefused) as refusal:
        add_lock(zone=zone, name=name, type=type_, reason=reason, manager=NO_MANAGER, author=alice, now=NOW)
    assert refusal.value.field == field
    assert not Lock.objects.exists()


def test_a_lock_is_there_once_and_a_zone_has_not_too_many(zone: Zone, alice: User) -> None:
    lock(zone, WWW, author=alice)
    with pytest.raises(LockRefused, match="already exists"):
        lock(zone, WWW, author=alice)
    rows = (Lock(zone=zone, name=f"h{n}.{zone.name}", reason="x", placed_at=NOW) for n in range(MOST - 1))
    Lock.objects.bulk_create(rows)
    with pytest.raises(LockRefused, match=f"at most {MOST} locks"):
        lock(zone, MAIL, author=alice)


def test_a_lock_that_is_gone_or_of_another_zone_is_unknown(zone: Zone, make_zone: MakeZone, alice: User) -> None:
    placed = lock(zone, WWW, author=alice)
    other = make_zone(name="other.test.")
    with pytest.raises(LockUnknown):
        lift_lock(zone=other, lock_id=placed.pk, author=alice, now=NOW)
    lift_lock(zone=zone, lock_id=placed.pk, author=alice, now=NOW)
    with pytest.raises(LockUnknown):
        lift_lock(zone=zone, lock_id=placed.pk, author=alice, now=NOW)
    edit.delete_zone(zone=zone, acting=Acting(alice, Channel.WEB, NOW))
    with pytest.raises(Unknown):
        lock(zone, author=alice)


def test_the_audit_log_says_who_locked_what_for_whom_and_who_lifted_it(zone: Zone, alice: User, token: Actor) -> None:
    placed = lock(zone, WWW, author=alice, manager=manager_of(token))
    lift_lock(zone=zone, lock_id=placed.pk, author=alice, now=NOW)
    entries = AuditEntry.objects.filter(action__in=("zone.lock", "zone.unlock")).order_by("pk")
    assert [entry.action for entry in entries] == ["zone.lock", "zone.unlock"]
    for entry in entries:
        assert entry.target == zone.name
        expected = {"what": "www.example.test. A", "reason": TERRAFORM, "manager": "the token terraform"}
        assert entry.details == expected


def test_a_lock_whose_token_was_revoked_lets_nobody_through(zone: Zone, alice: User, token: Actor) -> None:
    placed = lock(zone, WWW, author=alice, manager=manager_of(token))
    assert token.token is not None
    revoke_token(token=token.token, by=alice, now=NOW)
    with pytest.raises(Locked):
        publish(zone, WWW, alice)
    lift_lock(zone=zone, lock_id=placed.pk, author=alice, now=NOW)
    publish(zone, WWW, alice)


def test_removal_and_the_serial_of_what_is_not_locked(zone: Zone, alice: User) -> None:
    lock(zone, (zone.name, rdtypes.SOA), author=alice)
    publish_patches(
        patches=[patch_of_steps(zone, [(MAIL, remove_rrset)])], acting=Acting(alice, Channel.API, NOW)
    )  # increases the serial, too
    assert not RRset.objects.filter(zone=zone, name=MAIL[0]).exists()
    soa = RRset.objects.get(zone=zone, type=rdtypes.SOA)
    assert Change(zone.name, rdtypes.SOA, None, None).key == (soa.name, soa.type)
