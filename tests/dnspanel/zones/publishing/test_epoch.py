"""A new epoch: its sequence is above all known ones, and it applies all decisions or nothing."""

from collections.abc import Sequence
from uuid import uuid4

import pytest

from dnspanel.accounts.models import AuditEntry, Role, User
from dnspanel.zones.acting import Acting
from dnspanel.zones.errors import NamesRefused, NotOnHold
from dnspanel.zones.log import publish_hold
from dnspanel.zones.models import Channel, Epoch, LogHead, Publication, Revision, RevisionKind, RRset, Zone
from dnspanel.zones.publishing import edit
from dnspanel.zones.publishing.epoch import ChangedZone, GoneZone, Known, NewZone, Outcome, begin_epoch
from dnspanel.zones.store.store_rrsets import rrset_of
from replication.dns.rrset import RRset as Values
from replication.dns.rrset import Serial
from tests.dnspanel.zones.conftest import MakeZone, rr
from tests.people import NOW, make_person

pytestmark = pytest.mark.django_db(transaction=True)
FAR = Known(sequence=1000, zone_id=5000)


def begin(*batches: Sequence[Outcome], by: User | None = None, known: Known = FAR) -> Epoch:
    publish_hold.hold(reason="ns1 knows more.", now=NOW)
    return begin_epoch(
        batches=batches, known=known, by=by, reason="taken over", now=NOW, in_transaction=lambda epoch: None
    )


def content(name: str, serial: int) -> list[Values]:
    return [
        rr(f"@ 3600 SOA ns1.example.net. h.example.net. {serial} 10800 3600 604800 3600", origin=name),
        rr("@ 3600 NS ns1.example.net.", origin=name),
        rr("www 300 A 192.0.2.1", origin=name),
    ]


def at(zone: Zone, name: str, type: int = 1) -> Values | None:
    row = RRset.objects.filter(zone=zone, name=name, type=type).first()
    return rrset_of(row) if row else None


def test_the_new_epoch_lies_above_everything_known(zone: Zone, alice: User) -> None:
    before = LogHead.objects.get()
    lost = uuid4()
    epoch = begin(by=alice, known=Known(1000, 5000, [lost]))
    head = LogHead.objects.get()
    assert (head.epoch, head.sequence, head.cluster) == (epoch.epoch, 1000, before.cluster)
    assert head.epoch != before.epoch
    assert (epoch.began_after, epoch.by, epoch.reason) == (1000, alice, "taken over")
    assert publish_hold.current_hold() is None
    assert publish_hold.is_of_this_history(lost)
    edit.create_zone(zone=edit.NewZone("next.test."), acting=Acting(alice, Channel.WEB, NOW))
    assert Zone.objects.get(name="next.test.").pk > 5000
    assert Publication.objects.latest("sequence").sequence == 1001


def test_ids_and_sequences_never_go_down(make_zone: MakeZone, alice: User) -> None:
    zone, sequence = make_zone(), LogHead.objects.get().sequence
    begin(by=alice, known=Known(0, 0))
    assert LogHead.objects.get().sequence == sequence
    assert make_zone(name="other.test.").pk > zone.pk


def test_a_zone_that_only_nodes_have_is_created_with_its_id(zone: Zone, alice: User) -> None:
    begin([NewZone(4711, "lost.test.", content("lost.test.", 9))], by=alice)
    lost = Zone.objects.get(pk=4711)
    assert (lost.name, lost.serial, lost.revision, lost.rrset_count) == ("lost.test.", 10, 1, 3)
    assert at(lost, "www.lost.test.") == rr("www 300 A 192.0.2.1", origin="lost.test.")
    assert Revision.objects.get(zone=lost).publication.sequence == 1001


def test_an_id_that_is_taken_here_is_not_used_twice(zone: Zone, alice: User) -> None:
    begin([NewZone(zone.pk, "lost.test.", content("lost.test.", 9))], by=alice)
    assert Zone.objects.get(name="lost.test.").pk > 5000
    zone.refresh_from_db()
    assert zone.name == "example.test."


def test_zones_come_back_in_nobodys_names(zone: Zone, make_zone: MakeZone, alice: User) -> None:
    """Zones from the nodes and the trash get no author, because the deciding person may have lost the role since."""
    trashed = make_zone(name="below.example.test.")
    edit.delete_zone(zone=trashed, acting=Acting(alice, Channel.WEB, NOW))
    nick = make_person("nick", Role.MEMBER)
    outcomes: list[Outcome] = [
        NewZone(4711, "www.example.test.", content("www.example.test.", 9)),
        ChangedZone(trashed.pk, None, {}),
    ]
    for outcome in outcomes:
        with pytest.raises(NamesRefused, match="below another team’s zone"):
            begin([outcome], by=nick)
    assert publish_hold.current_hold() is not None
    assert Zone.objects.filter(deleted_at=None).get() == zone
    begin(outcomes, by=alice)
    assert Zone.objects.filter(deleted_at=None).count() == 3


@pytest.mark.parametrize(("there", "expected"), [(7, 8), (1, 2), (2**31, 2**31 + 1), (2**32 - 1, 2)])
def test_a_kept_zone_gets_a_serial_above_what_nodes_serve(there: int, expected: int, zone: Zone, alice: User) -> None:
    # By RFC 1982, 2**32 - 1 is below 1. Here the panel's next serial is above both.
    assert zone.serial == 1
    begin([ChangedZone(zone.pk, Serial(there), {})], by=alice)
    zone.refresh_from_db()
    assert zone.serial == expected
    assert zone.revision == 2
    revision = Revision.objects.get(zone=zone, number=2)
    assert (revision.added, revision.changed, revision.removed) == (0, 0, 0)
    soa = at(zone, zone.name, 6)
    assert soa is not None
    assert f" {expected} " in soa.rdata[0]


def test_what_nodes_have_becomes_a_revision_and_the_panels_content_stays_in_history(zone: Zone, alice: User) -> None:
    changes = {
        ("www.example.test.", 1): rr("www 60 A 192.0.2.50"),
        ("mail.example.test.", 1): None,
        ("new.example.test.", 1): rr("new 60 A 192.0.2.51"),
    }
    begin([ChangedZone(zone.pk, Serial(3), changes)], by=alice)
    zone.refresh_from_db()
    assert (zone.serial, zone.revision) == (4, 2)
    assert at(zone, "www.example.test.") == rr("www 60 A 192.0.2.50")
    assert at(zone, "mail.example.test.") is None
    revision = Revision.objects.get(zone=zone, number=2)
    assert (revision.added, revision.changed, revision.removed) == (1, 1, 1)
    before = revision.changes.get(name="www.example.test.").before
    assert before is not None
    assert before["rdata"] == ["192.0.2.1", "192.0.2.2"]


def test_a_zone_in_the_trash_comes_back_when_nodes_serve_it(zone: Zone, alice: User) -> None:
    edit.delete_zone(zone=zone, acting=Acting(alice, Channel.WEB, NOW))
    begin([ChangedZone(zone.pk, Serial(5), {("www.example.test.", 1): rr("www 60 A 192.0.2.50")})], by=alice)
    zone.refresh_from_db()
    assert (zone.deleted_at, zone.serial, zone.revision) == (None, 6, 3)
    assert Revision.objects.get(zone=zone, number=3).kind == RevisionKind.RESTORE


def test_a_zone_that_nodes_do_not_have_goes_to_the_trash(zone: Zone, alice: User) -> None:
    begin([GoneZone(zone.pk)], by=alice)
    zone.refresh_from_db()
    assert zone.deleted_at is not None
    assert Revision.objects.get(zone=zone, number=2).kind == RevisionKind.DELETE


def test_each_batch_is_one_publication(make_zone: MakeZone, alice: User) -> None:
    one, two = make_zone(name="one.test."), make_zone(name="two.test.")
    begin(
        [ChangedZone(one.pk, Serial(4), {}), NewZone(4711, "lost.test.", content("lost.test.", 9))],
        [ChangedZone(two.pk, Serial(4), {})],
        by=alice,
    )
    made = Publication.objects.filter(sequence__gt=1000).order_by("sequence")
    assert list(made.values_list("sequence", flat=True)) == [1001, 1002]
    assert LogHead.objects.get().sequence == 1002


def test_all_of_it_or_nothing(zone: Zone, alice: User) -> None:
    before = LogHead.objects.values().get() | {"held_reason": "ns1 knows more.", "held_since": NOW}
    with pytest.raises(KeyError):  # the panel doesn't have this zone
        begin([NewZone(4711, "lost.test.", content("lost.test.", 9))], [ChangedZone(99999, Serial(4), {})], by=alice)
    assert LogHead.objects.values().get() == before
    assert not Zone.objects.filter(name="lost.test.").exists()
    assert not Epoch.objects.exists()


def test_without_a_hold_there_is_nothing_to_decide(zone: Zone, alice: User) -> None:
    with pytest.raises(NotOnHold):
        begin_epoch(batches=[], known=FAR, by=alice, reason="", now=NOW, in_transaction=lambda epoch: None)
    assert not Epoch.objects.exists()


def test_the_audit_log_says_who_began_it_and_why(zone: Zone, alice: User) -> None:
    epoch = begin(by=alice)
    entry = AuditEntry.objects.get(action="epoch.begin")
    assert (entry.user, entry.target) == (alice, str(epoch.epoch))
    assert entry.details["reason"] == "taken over"
    assert entry.details["held"] == "ns1 knows more."
