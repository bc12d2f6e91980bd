"""Large changes published in pieces: refused as a whole, mixed with other people's edits, and completed regardless."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

import pytest
from django.dispatch import Signal

from dnspanel.accounts.models import User
from dnspanel.zones.acting import Acting
from dnspanel.zones.errors import NameTaken, PublishedInPart, RuleViolations
from dnspanel.zones.models import Change, Channel, Publication, Revision, Zone
from dnspanel.zones.models import RRset as StoredRRset
from dnspanel.zones.publishing import edit, pieces, zone_patches
from replication.dns.rrset import RRset
from tests.dnspanel.zones.conftest import ZONE, MakeZone, rr
from tests.people import NOW

pytestmark = pytest.mark.django_db(transaction=True)

PIECE = 4
LINES = [f"h{number:02} 300 A 192.0.2.{number}" for number in range(10)]


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use small pieces, without a receiver for room requests unless a test adds one."""
    monkeypatch.setattr(pieces, "PIECE_RRSETS", PIECE)
    monkeypatch.setattr(pieces, "room_requested", Signal())


@contextmanager
def before_pieces(*acts: Callable[[], object], has_room: bool = True) -> Iterator[list[int]]:
    """Run the next act before each piece. Yield the numbers of the pieces before which room was requested."""
    waited: list[int] = []

    def receiver(**_: Any) -> bool:
        waited.append(len(waited) + 1)
        if len(waited) <= len(acts):
            acts[len(waited) - 1]()
        return has_room

    pieces.room_requested.connect(receiver)
    yield waited
    pieces.room_requested.disconnect(receiver)


def steps(lines: list[str]) -> list[tuple[tuple[str, int], zone_patches.Step]]:
    rrsets = [rr(line) for line in lines]
    return [((rrset.name, rrset.type), zone_patches.replace_with(rrset)) for rrset in rrsets]


def publish(author: User, *patches: zone_patches.Patch, **more: Any) -> zone_patches.Outcome:
    return zone_patches.publish_patches(patches=patches, acting=Acting(author, Channel.API, NOW), **more)


def nothing() -> None:
    """Do nothing, as an act before a piece."""


def sizes() -> list[int]:
    """Return the number of RRsets except the SOA that each change publication changed."""
    revisions = Revision.objects.filter(kind="change").order_by("publication")
    return [Change.objects.filter(revision=each).exclude(type=6).count() for each in revisions]


def texts(zone: Zone) -> dict[str, list[str]]:
    stored = StoredRRset.objects.filter(zone=zone).exclude(type__in=(2, 6))
    return {row.name.removesuffix(f".{ZONE}"): row.rdata for row in stored}


def test_edits_of_others_are_published_between_the_pieces(make_zone: MakeZone, alice: User, bob: User) -> None:
    zone, other = make_zone(), make_zone(name="other.test.")
    urgent = zone_patches.patch_of_steps(
        other, [(("www.other.test.", 1), zone_patches.replace_with(rr("www 60 A 192.0.2.1", origin="other.test.")))]
    )
    with before_pieces(nothing, lambda: publish(bob, urgent)) as waited:
        outcome = publish(alice, zone_patches.patch_of_steps(zone, steps(LINES)))
    assert waited == [1, 2, 3]
    assert sizes() == [4, 1, 4, 2]  # 1 is Bob's, well before Alice's last one
    assert len(texts(zone)) == len(LINES)
    (plan,) = outcome.plans
    zone.refresh_from_db()
    assert outcome.publication is not None
    assert outcome.publication.sequence == Publication.objects.latest("sequence").sequence
    assert (plan.zone.revision + 1, plan.serial, plan.added) == (zone.revision, zone.serial, len(LINES))
    assert zone.rrset_count == len(LINES) + 2


def test_one_fault_refuses_all_of_it(make_zone: MakeZone, alice: User) -> None:
    zone = make_zone("z 300 A 192.0.2.1")
    before = Publication.objects.count()
    with before_pieces() as waited, pytest.raises(RuleViolations):
        publish(alice, zone_patches.patch_of_steps(zone, [*steps(LINES), *steps(["z 300 CNAME h01"])]))
    assert (waited, Publication.objects.count()) == ([], before)


def test_what_others_change_between_two_pieces_is_decided_anew(make_zone: MakeZone, alice: User, bob: User) -> None:
    zone = make_zone("h09 300 A 192.0.2.200")
    add = [((key, zone_patches.add_records(rr(line)))) for line, (key, _) in zip(LINES, steps(LINES), strict=True)]
    theirs = zone_patches.patch_of_steps(zone, [(add[9][0], zone_patches.add_records(rr("h09 300 A 192.0.2.201")))])
    with before_pieces(nothing, lambda: publish(bob, theirs)):
        publish(alice, zone_patches.patch_of_steps(zone, add))
    assert texts(zone)["h09"] == ["192.0.2.9", "192.0.2.200", "192.0.2.201"]
    assert len(texts(zone)) == len(LINES)


def test_a_zone_that_must_not_move_meanwhile_says_how_much_is_published(
    make_zone: MakeZone, alice: User, bob: User
) -> None:
    zone = make_zone()
    theirs = zone_patches.patch_of_steps(zone, steps(["more 300 A 192.0.2.1"]))
    with before_pieces(nothing, lambda: publish(bob, theirs)), pytest.raises(PublishedInPart) as stopped:
        publish(alice, zone_patches.patch_of_steps(zone, steps(LINES), at_revision=1))
    assert str(stopped.value) == (
        "Other people have changed the same records in the meantime. 1 of 3 parts were published, up to publication 2."
        " Send the request again for the rest."
    )
    assert len(texts(zone)) == PIECE + 1
    publish(alice, zone_patches.patch_of_steps(zone, steps(LINES)))
    assert len(texts(zone)) == len(LINES) + 1


def test_what_goes_makes_room_for_what_comes(make_zone: MakeZone, alice: User) -> None:
    """A DNAME cannot have names below it. Changes of one name stay together, so a CNAME can replace addresses."""
    zone = make_zone(*(f"h{number}.sub 300 A 192.0.2.1" for number in range(6)), "www 300 A 192.0.2.1")
    gone = [((f"h{number}.sub.{ZONE}", 1), zone_patches.remove_rrset) for number in range(6)]
    new = [((f"sub.{ZONE}", 39), zone_patches.replace_with(rr("sub 300 DNAME example.net.")))]
    alias = [
        ((f"www.{ZONE}", 1), zone_patches.remove_rrset),
        ((f"www.{ZONE}", 5), zone_patches.replace_with(rr("www 300 CNAME example.net."))),
    ]
    publish(alice, zone_patches.patch_of_steps(zone, [*alias, *new, *gone]))
    assert texts(zone) == {"sub": ["example.net."], "www": ["example.net."]}


def test_who_gets_no_room_waits_for_it_once(make_zone: MakeZone, alice: User) -> None:
    """The wait is not repeated. Without a running publisher, nothing would reach the nodes anyway."""
    zone = make_zone()
    with before_pieces(has_room=False) as waited:
        publish(alice, zone_patches.patch_of_steps(zone, steps(LINES)))
    assert waited == [1]
    assert len(texts(zone)) == len(LINES)


def test_a_large_zone_is_created_and_filled_once(alice: User) -> None:
    rrsets: list[RRset] = [rr(line) for line in LINES]
    form_id, kept = uuid4(), []

    def create(form: Any) -> Publication:
        return edit.create_zone(
            zone=edit.NewZone(ZONE, rrsets),
            acting=Acting(alice, Channel.API, NOW, form_id=form),
            in_transaction=lambda: kept.append(Zone.objects.get(name=ZONE).rrset_count),
        )

    publication = create(form_id)
    assert create(form_id).sequence == publication.sequence
    with pytest.raises(NameTaken):
        create(uuid4())
    zone = Zone.objects.get()
    assert (zone.rrset_count, zone.sequence, len(kept)) == (len(LINES) + 2, publication.sequence, 1)
    assert sizes() == [4, 4, 2]
