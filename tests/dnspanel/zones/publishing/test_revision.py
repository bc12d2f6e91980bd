"""Publish, undo and restore."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from dnspanel.accounts.actors.actors import RECORD_RIGHTS, Grant, Right
from dnspanel.accounts.models import User
from dnspanel.zones.acting import Acting
from dnspanel.zones.drafts import draft
from dnspanel.zones.errors import (
    CannotUndo,
    Conflicts,
    GuardHolds,
    NothingToPublish,
    RevisionUnknown,
    RightMissing,
    RuleViolations,
    Unknown,
)
from dnspanel.zones.log import history
from dnspanel.zones.models import Change as StoredChange
from dnspanel.zones.models import Channel, LogHead, Operation, Publication, Revision, RRset, Zone
from dnspanel.zones.publishing import edit, revision
from dnspanel.zones.store.store_rrsets import rrset_of
from replication.dns import rdtypes
from replication.dns.rrset import Change
from replication.dns.rrset import RRset as Values
from tests.dnspanel.zones.conftest import ZONE, MakeZone, rr, token_actor
from tests.people import NOW
from tests.publishing import change_rrsets

A, MX, SOA = rdtypes.A, rdtypes.MX, rdtypes.SOA


def want(author: User, zone: Zone, *lines: str) -> None:
    for line in lines:
        draft.replace_rrset(author=author, zone=zone, rrset=rr(line, origin=zone.name), now=NOW)


def publish(
    author: User, zones: Sequence[Zone] | None = None, form_id: UUID | None = None, **of_consent: Any
) -> Publication:
    consent = revision.Consent(**of_consent)
    return revision.publish(acting=Acting(author, Channel.WEB, NOW, form_id=form_id), zones=zones, consent=consent)


def stored(zone: Zone) -> dict[tuple[str, int], Values]:
    return {(row.name, row.type): rrset_of(row) for row in RRset.objects.filter(zone=zone)}


def test_publishing_a_draft_writes_the_rrset_the_serial_the_revision_and_the_log(bob: User, zone: Zone) -> None:
    head = LogHead.objects.get().sequence
    want(bob, zone, "www2 300 A 192.0.2.7")
    publication = publish(bob, reason="a second web server")
    assert publication.sequence == head + 1 == LogHead.objects.get().sequence
    now = stored(zone)
    assert now["www2." + ZONE, A] == rr("www2 300 A 192.0.2.7")
    zone.refresh_from_db()
    assert (zone.revision, zone.serial, zone.rrset_count, zone.sequence) == (2, 2, 7, publication.sequence)
    assert zone.changed_by == bob
    assert now[ZONE, SOA].rdata[0].split()[2] == "2"
    made = Revision.objects.get(zone=zone, number=2)
    assert (made.kind, made.serial, made.added, made.changed, made.removed) == ("change", 2, 1, 0, 0)
    assert made.publication.reason == "a second web server"
    assert [history.diff(change).mark for change in history.revision_changes(revision=made)] == ["added"]
    assert not Operation.objects.exists()


def test_every_revision_records_the_soa_with_its_new_serial(bob: User, zone: Zone) -> None:
    want(bob, zone, "www2 300 A 192.0.2.7")
    publish(bob)
    soa = StoredChange.objects.get(revision__zone=zone, revision__number=2, type=SOA)
    assert soa.before["rdata"] != soa.after["rdata"]


def test_a_publication_over_two_zones_has_one_sequence(bob: User, zone: Zone, make_zone: MakeZone) -> None:
    other = make_zone("www 300 A 192.0.2.1", name="other.test.")
    want(bob, zone, "a 300 A 192.0.2.7")
    want(bob, other, "b 300 A 192.0.2.8")
    publication = publish(bob)
    assert set(publication.revisions.values_list("zone__name", flat=True)) == {ZONE, "other.test."}


def test_publishing_some_zones_leaves_the_rest_in_the_draft(bob: User, zone: Zone, make_zone: MakeZone) -> None:
    other = make_zone("www 300 A 192.0.2.1", name="other.test.")
    want(bob, zone, "a 300 A 192.0.2.7")
    want(bob, other, "b 300 A 192.0.2.8")
    publish(bob, zones=[other])
    assert [o.zone_id for o in Operation.objects.all()] == [zone.pk]


def test_an_empty_draft_publishes_nothing(bob: User, zone: Zone) -> None:
    with pytest.raises(NothingToPublish):
        publish(bob)


def test_what_others_published_as_well_is_dropped(alice: User, bob: User, zone: Zone) -> None:
    want(alice, zone, "a 300 A 192.0.2.7")
    want(bob, zone, "a 300 A 192.0.2.7")
    publish(alice)
    assert revision.preview(author=bob)[0].already_so[0].name == "a." + ZONE
    with pytest.raises(NothingToPublish):
        publish(bob)
    assert not Operation.objects.exists()


def test_changes_of_different_rrsets_merge_by_themselves(alice: User, bob: User, zone: Zone) -> None:
    want(alice, zone, "www 60 A 192.0.2.1")
    want(bob, zone, "mail 60 A 192.0.2.9")
    publish(alice)
    publish(bob)
    now = stored(zone)
    assert (now["www." + ZONE, A].ttl, now["mail." + ZONE, A].ttl) == (60, 60)


def test_the_second_publisher_of_an_rrset_sees_base_theirs_and_mine_and_loses_nothing(
    alice: User, bob: User, zone: Zone
) -> None:
    want(alice, zone, "www 300 A 192.0.2.1 | 192.0.2.3")
    want(bob, zone, "www 300 A 192.0.2.4")
    publish(alice)
    with pytest.raises(Conflicts) as caught:
        publish(bob)
    (conflict,) = caught.value.conflicts
    assert conflict.change.before == rr("www 300 A 192.0.2.1 | 192.0.2.2")
    assert conflict.theirs == rr("www 300 A 192.0.2.1 | 192.0.2.3")
    assert conflict.change.after == rr("www 300 A 192.0.2.4")
    assert Operation.objects.get().wanted["rdata"] == ["192.0.2.4"]
    draft.resolve(author=bob, operation_id=conflict.operation_id or 0, choice="both", now=NOW)
    publish(bob)
    assert stored(zone)["www." + ZONE, A].rdata == ("192.0.2.1", "192.0.2.3", "192.0.2.4")


def test_the_same_form_sent_twice_is_one_publication(bob: User, zone: Zone) -> None:
    form_id = uuid4()
    want(bob, zone, "a 300 A 192.0.2.7")
    first = publish(bob, form_id=form_id)
    assert publish(bob, form_id=form_id) == first
    want(bob, zone, "b 300 A 192.0.2.8")
    assert publish(bob, form_id=form_id) == first
    assert Operation.objects.count() == 1


def test_an_error_stops_a_publication_and_a_warning_does_until_it_is_accepted(bob: User, zone: Zone) -> None:
    want(bob, zone, "www 300 TXT text", "low 5 A 192.0.2.7")
    with pytest.raises(RuleViolations) as caught:
        publish(bob)
    assert [v.code for v in caught.value.violations] == ["ttl-low"]
    with pytest.raises(RuleViolations):
        publish(bob, accept_warnings={"ns-few"})
    publish(bob, accept_warnings={"ttl-low"})
    want(bob, zone, "www 300 CNAME mail")
    with pytest.raises(RuleViolations) as caught:
        publish(bob, accept_warnings=True)
    assert "cname-alone" in {v.code for v in caught.value.violations}


def test_a_type_may_give_way_to_a_cname_in_one_publication(bob: User, zone: Zone) -> None:
    rename = rr("www 300 CNAME mail")
    draft.replace_rrset(author=bob, zone=zone, rrset=rename, now=NOW, replaces=("www." + ZONE, A))
    publish(bob)
    assert ("www." + ZONE, A) not in stored(zone)


def test_the_guard_holds_a_mass_deletion_until_it_is_confirmed(bob: User, make_zone: MakeZone) -> None:
    zone = make_zone(*(f"h{i} 300 A 192.0.2.{i}" for i in range(1, 11)))
    for i in range(1, 5):
        draft.delete_rrset(author=bob, zone=zone, name=f"h{i}.{ZONE}", type=A, now=NOW)
    with pytest.raises(GuardHolds) as caught:
        publish(bob)
    [waiting] = caught.value.zones
    assert (waiting.name, waiting.removed, waiting.rrsets) == (ZONE, 4, 12)
    assert "4 of 12" in waiting.reasons[0]
    publish(bob, confirmed=True)


def test_the_guard_holds_the_removal_of_an_apex_name_server(bob: User, zone: Zone) -> None:
    want(bob, zone, "@ 3600 NS ns1.example.net. | ns3.example.net.")
    with pytest.raises(GuardHolds, match=r"ns2\.example\.net"):
        publish(bob)


@pytest.mark.parametrize(
    ("wanted", "then"),
    [(2026112101, 2026112101), (1, 2), (0, 2), (2**31 + 5, 2)],
    ids=["a greater serial is kept", "the same serial moves on", "a smaller one too", "so does one past RFC 1982"],
)
def test_a_serial_in_the_draft_counts_only_if_it_is_greater(bob: User, zone: Zone, wanted: int, then: int) -> None:
    soa = f"@ 3600 SOA ns1.example.net. hostmaster.example.net. {wanted} 7200 3600 604800 60"
    want(bob, zone, soa)
    publish(bob)
    zone.refresh_from_db()
    assert zone.serial == then
    assert stored(zone)[ZONE, SOA].rdata[0].split()[2:4] == [str(then), "7200"]


def test_the_serial_wraps_past_zero(bob: User, make_zone: MakeZone) -> None:
    zone = make_zone(f"@ 3600 SOA ns1.example.net. hostmaster.example.net. {2**32 - 1} 7200 3600 604800 60")
    want(bob, zone, "a 300 A 192.0.2.7")
    publish(bob)
    zone.refresh_from_db()
    assert zone.serial == 1


def test_others_publishing_does_not_make_a_soa_edit_conflict(alice: User, bob: User, zone: Zone) -> None:
    want(bob, zone, "@ 3600 SOA ns1.example.net. hostmaster.example.net. 1 7200 3600 604800 60")
    want(alice, zone, "a 300 A 192.0.2.7")
    publish(alice)
    publish(bob)
    zone.refresh_from_db()
    assert zone.serial == 3


def test_a_publication_of_one_edit_needs_ten_queries(bob: User, zone: Zone) -> None:
    want(bob, zone, "www 300 A 192.0.2.77")
    with CaptureQueriesContext(
        connection,
    ) as queries:
        publish(bob)
    # draft, zones, operations, neighboring RRsets, zones inside, delete operations, write RRsets, log; and a
    # savepoint's two, which are BEGIN and COMMIT outside tests
    assert len(queries) == 10, [(q["sql"] or "")[:80] for q in queries]


def test_ten_thousand_operations_need_no_more_queries(bob: User, zone: Zone) -> None:
    rrsets = [rr(f"h{i} 300 A 192.0.2.{i % 250 + 1}") for i in range(10_000)]
    with CaptureQueriesContext(connection) as queries:
        changes = [Change(r.name, r.type, None, r) for r in rrsets]
        draft.draft_changes(author=bob, zones=[draft.ZoneChanges(zone, changes, 1)], now=NOW)
        publish(bob)
    assert len(queries) <= 20
    # With a self-join, PostgreSQL would compare all pairs if statistics show few rows.
    deletions = [query["sql"] for query in queries.captured_queries if (query["sql"] or "").startswith("DELETE")]
    assert [sql.count('"zones_operation"') for sql in deletions if "JOIN" in sql] == []
    zone.refresh_from_db()
    assert zone.rrset_count == 10_006


def test_changing_a_deleted_zone_is_unknown(alice: User, zone: Zone) -> None:
    edit.delete_zone(zone=zone, acting=Acting(alice, Channel.WEB, NOW))
    with pytest.raises(Unknown):
        change_rrsets(zone=zone, changes={("w." + ZONE, A): rr("w 3 A 192.0.2.1")}, author=None, channel="api", now=NOW)


def test_undo_puts_the_inverse_into_the_draft(bob: User, zone: Zone) -> None:
    before = stored(zone)
    want(bob, zone, "www 60 A 192.0.2.8", "new 300 A 192.0.2.7")
    draft.delete_rrset(author=bob, zone=zone, name="shop." + ZONE, type=rdtypes.CNAME, now=NOW)
    publish(bob)
    revision.undo_revisions(revisions=[Revision.objects.get(zone=zone, number=2)], author=bob, now=NOW)
    assert Operation.objects.count() == 3
    publish(bob)
    after = stored(zone)
    assert {k: v for k, v in after.items() if k[1] != SOA} == {k: v for k, v in before.items() if k[1] != SOA}
    zone.refresh_from_db()
    assert (zone.serial, zone.rrset_count) == (3, 6)


def test_undo_of_what_was_changed_again_is_a_conflict(alice: User, bob: User, zone: Zone) -> None:
    want(bob, zone, "www 60 A 192.0.2.8")
    publish(bob)
    want(alice, zone, "www 60 A 192.0.2.10")
    publish(alice)
    revision.undo_revisions(revisions=[Revision.objects.get(zone=zone, number=2)], author=bob, now=NOW)
    with pytest.raises(Conflicts):
        publish(bob)


def test_undo_does_not_overwrite_the_draft(bob: User, zone: Zone) -> None:
    want(bob, zone, "www 60 A 192.0.2.8")
    publish(bob)
    want(bob, zone, "www 60 A 192.0.2.11")
    with pytest.raises(CannotUndo, match="draft"):
        revision.undo_revisions(revisions=[Revision.objects.get(zone=zone, number=2)], author=bob, now=NOW)
    assert Operation.objects.get().wanted["rdata"] == ["192.0.2.11"]


def test_undo_and_return_draft_only_what_the_author_may_see_and_change(alice: User, bob: User, zone: Zone) -> None:
    want(bob, zone, "www 60 A 192.0.2.8", "new 300 A 192.0.2.7")
    publish(bob)
    changed = Revision.objects.get(zone=zone, number=2)
    records, read = RECORD_RIGHTS, frozenset({Right.READ})
    for scope in (
        (Grant(records | read, everywhere=True, names=("www",)),),  # not "new"
        (Grant(records, everywhere=True), Grant(read, everywhere=True, names=("www",))),  # does not see "new"
        (Grant(read, everywhere=True),),
    ):
        token = token_actor(alice, *scope)
        with pytest.raises(RightMissing):
            revision.undo_revisions(revisions=[changed], author=token, now=NOW)
        with pytest.raises(RightMissing):
            revision.restore_to(zone=zone, number=1, author=token, now=NOW)
    blind = token_actor(alice, Grant(records | read, zones=frozenset({zone.pk + 1})))
    with pytest.raises(Unknown):
        revision.undo_revisions(revisions=[changed], author=blind, now=NOW)
    assert not Operation.objects.exists()


def test_undo_of_a_creation_points_to_delete_and_of_a_deletion_to_restore(alice: User, zone: Zone) -> None:
    with pytest.raises(CannotUndo) as caught:
        revision.undo_revisions(revisions=[Revision.objects.get(zone=zone, number=1)], author=alice, now=NOW)
    assert caught.value.instead == "delete"
    edit.delete_zone(zone=zone, acting=Acting(alice, Channel.WEB, NOW))
    with pytest.raises(CannotUndo) as caught:
        revision.undo_revisions(revisions=[Revision.objects.get(zone=zone, number=2)], author=alice, now=NOW)
    assert caught.value.instead == "restore"


def test_a_zone_can_be_taken_back_to_any_revision(bob: User, zone: Zone) -> None:
    states = [stored(zone)]
    for lines in (["www 60 A 192.0.2.8"], ["new 300 A 192.0.2.7", "www 61 A 192.0.2.8"], ["new 300 A 192.0.2.12"]):
        want(bob, zone, *lines)
        publish(bob)
        states.append(stored(zone))
    for number, state in enumerate(states, 1):
        assert {(r.name, r.type): r for r in history.rrsets_at(zone=zone, number=number)} == state
    revision.restore_to(zone=zone, number=1, author=bob, now=NOW)
    publish(bob, accept_warnings=True)
    without_soa = {k: v for k, v in stored(zone).items() if k[1] != SOA}
    assert without_soa == {k: v for k, v in states[0].items() if k[1] != SOA}
    with pytest.raises(RevisionUnknown, match="doesn’t have a revision 99"):
        revision.restore_to(zone=zone, number=99, author=bob, now=NOW)
    Revision.objects.filter(zone=zone, number=1).delete()
    with pytest.raises(RevisionUnknown, match="was removed, because it was too old"):
        revision.restore_to(zone=zone, number=1, author=bob, now=NOW)


def test_disabled_records_and_comments_are_published_too(bob: User, zone: Zone) -> None:
    wanted = replace(rr("www 300 A 192.0.2.1 | 192.0.2.2"), disabled=("192.0.2.2",), comment="moved in May")
    draft.replace_rrset(author=bob, zone=zone, rrset=wanted, now=NOW)
    publish(bob)
    assert stored(zone)["www." + ZONE, A] == wanted
