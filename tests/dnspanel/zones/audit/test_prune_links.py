"""Old acts leave the audit log, and what remains can still be verified. Tests `log.prune_history` too."""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.db import connection

from dnspanel.accounts.audit import audit
from dnspanel.accounts.models import AuditEntry, User
from dnspanel.backup.backup_contents import consistency
from dnspanel.zones.audit import audit_links, prune_links
from dnspanel.zones.audit.audit_chain import PRUNED
from dnspanel.zones.audit.audit_verify import Anchor, verify_chain
from dnspanel.zones.log import history, prune_history
from dnspanel.zones.models import AuditLink, Change, Channel, Publication, Revision, Zone
from tests.dnspanel.zones.audit.test_audit_links import own_transactions as own_transactions
from tests.dnspanel.zones.conftest import MakeZone, rr
from tests.people import NOW
from tests.publishing import change_rrsets

pytestmark = pytest.mark.django_db(transaction=True)

LATER = NOW + timedelta(days=100)
Keep = Callable[..., None]


@pytest.fixture
def keep(settings: Any) -> Keep:
    """Return a function that sets how many days each kind is kept."""

    def keep(**days: float) -> None:
        settings.KEEP_DAYS = {"history": 0.0, "dynamic": 0.0, "audit": 0.0, "imports": 0.0} | days

    return keep


def publish(zone: Zone, author: User, line: str, *, channel: str = Channel.WEB, at: datetime = NOW) -> None:
    rrset = rr(line, origin=zone.name)
    zone.refresh_from_db()
    change_rrsets(zone=zone, changes={(rrset.name, rrset.type): rrset}, author=author, channel=channel, now=at)


def numbers(zone: Zone) -> list[int]:
    return list(Revision.objects.filter(zone=zone).order_by("number").values_list("number", flat=True))


def state(zone: Zone, number: int) -> list[str]:
    return [str(rrset.to_json()) for rrset in history.rrsets_at(zone=zone, number=number)]


def faults() -> list[str]:
    """Return the faults that the check of the chain and a backup's drill find."""
    audit_links.link_new_acts()
    connection.ensure_connection()
    assert connection.connection is not None
    return [
        *verify_chain().faults,
        *(f"{one.what}: {one.found}" for one in consistency(connection.connection) if one.found),
    ]


@pytest.fixture
def dynamic(make_zone: MakeZone, alice: User) -> Zone:
    """Publish two edits, and between and after them three dynamic updates each."""
    zone = make_zone("www 300 A 192.0.2.1")
    other = make_zone(name="other.test.")
    for round_ in (1, 2):
        publish(zone, alice, f"www 300 A 192.0.2.{round_ + 1}")
        for host in (1, 2, 3):
            publish(zone, alice, f"h{host % 2} 60 A 198.51.100.{10 * round_ + host}", channel=Channel.DYNAMIC_UPDATE)
            publish(other, alice, f"h 60 A 198.51.100.{10 * round_ + host}", channel=Channel.DYNAMIC_UPDATE)
    audit_links.link_new_acts()
    return zone


def test_dynamic_updates_are_merged_and_every_other_revision_stays_as_it_was(
    dynamic: Zone, keep: Keep, alice: User
) -> None:
    assert numbers(dynamic) == [1, 2, 3, 4, 5, 6, 7, 8, 9]
    before = {number: state(dynamic, number) for number in (1, 2, 5, 6, 9)}
    keep(dynamic=90)
    publish(dynamic, alice, "h9 60 A 198.51.100.99", channel=Channel.DYNAMIC_UPDATE, at=LATER)
    assert prune_links.prune(now=LATER) == "pruned steps merged=1 history=0 links=9"
    assert numbers(dynamic) == [1, 2, 5, 6, 9, 10]
    assert {number: state(dynamic, number) for number in before} == before
    merged = Revision.objects.get(zone=dynamic, number=5)
    assert (merged.added, merged.changed, merged.removed) == (2, 0, 0)
    other = Zone.objects.get(name="other.test.")
    assert numbers(other) == [1, 7]
    assert faults() == []


def test_merged_updates_leave_one_link_for_all_of_them(dynamic: Zone, keep: Keep, alice: User) -> None:
    keep(dynamic=90)
    links, publications = AuditLink.objects.count(), Publication.objects.count()
    prune_links.prune(now=LATER)
    assert Publication.objects.count() == publications - 9  # of 12, those with the last revisions remain
    folded = AuditLink.objects.filter(kind=PRUNED)
    assert AuditLink.objects.count() < links
    assert sum(link.number - link.ref + 1 for link in folded) == 9
    assert faults() == []
    prune_links.prune(now=LATER)
    assert faults() == []
    publish(dynamic, alice, "h1 60 A 198.51.100.98", channel=Channel.DYNAMIC_UPDATE, at=LATER)
    prune_links.prune(now=LATER + timedelta(days=100))
    assert faults() == []
    assert numbers(dynamic) == [1, 2, 5, 6, 10]


def test_steps_of_any_size_end_with_the_same(dynamic: Zone, keep: Keep, monkeypatch: pytest.MonkeyPatch) -> None:
    """A killed worker leaves a finished step behind, and the next one continues."""
    keep(dynamic=90, audit=90)
    monkeypatch.setattr(prune_history, "REVISIONS_OF_A_STEP", 2)
    monkeypatch.setattr(prune_links, "LINKS_OF_A_STEP", 3)
    monkeypatch.setattr(prune_links, "STEPS_OF_A_TURN", 2)
    before = {number: state(dynamic, number) for number in (1, 2, 5, 6, 9)}
    for _ in range(20):
        prune_links.prune(now=LATER)
        assert faults() == []
    assert numbers(dynamic) == [1, 2, 5, 6, 9]
    assert {number: state(dynamic, number) for number in before} == before


def test_old_history_is_removed_from_the_beginning(dynamic: Zone, keep: Keep, alice: User) -> None:
    publish(dynamic, alice, "www 300 A 192.0.2.99", at=LATER - timedelta(days=5))
    keep(history=30)
    prune_links.prune(now=LATER)
    assert numbers(dynamic) == [10]
    assert not Change.objects.exclude(revision__in=Revision.objects.all()).exists()
    assert numbers(Zone.objects.get(name="other.test.")) == [7], "the newest revision of a zone remains"
    assert "192.0.2.99" in "".join(state(dynamic, 10))
    assert faults() == []


def test_revisions_that_a_draft_needs_remain(dynamic: Zone, keep: Keep, alice: User) -> None:
    from dnspanel.zones.drafts import draft
    from replication.dns.rrset import Change as RRsetChange

    rrset = rr("mail 300 A 192.0.2.7", origin=dynamic.name)
    dynamic.refresh_from_db()
    added = draft.ZoneChanges(dynamic, [RRsetChange(rrset.name, rrset.type, None, rrset)], 4)
    draft.draft_changes(author=alice, zones=[added], now=NOW)
    keep(history=30)
    prune_links.prune(now=LATER)
    assert numbers(dynamic) == [5, 6, 9]
    assert Change.objects.filter(revision__zone=dynamic, revision__number=5).exclude(type=6).count() == 1
    assert faults() == []


def test_old_acts_become_one_link_that_an_audit_entry_records(dynamic: Zone, keep: Keep, alice: User) -> None:
    audit.record(action="team.create", by=alice, now=NOW, target="Ours")
    audit_links.link_new_acts()
    anchors = [Anchor(link.number, bytes(link.chain)) for link in AuditLink.objects.order_by("number")]
    keep(history=30, audit=30)
    for turn in range(3):
        prune_links.prune(now=LATER + timedelta(days=turn))
        assert faults() == []
    assert not AuditEntry.objects.filter(action="team.create").exists()
    [first] = AuditLink.objects.filter(kind=PRUNED, ref=1)
    recorded = AuditEntry.objects.get(pk=first.parts["entry"])
    assert [1, first.number, first.hash] in recorded.details["ranges"]
    assert verify_chain(anchors).faults == ()
    assert verify_chain([Anchor(first.number, b"x" * 32)]).faults != ()


def test_a_removal_without_its_record_is_a_fault(dynamic: Zone, keep: Keep) -> None:
    keep(history=30, audit=30)
    prune_links.prune(now=LATER)
    assert faults() == []
    link = AuditLink.objects.filter(kind=PRUNED).earliest("number")
    AuditLink.objects.filter(pk=link.pk).update(parts={"entry": AuditEntry.objects.latest("pk").pk + 7})
    assert faults() == [f"numbers {link.ref} to {link.number} were removed, but no audit entry records this"]
    AuditLink.objects.filter(pk=link.pk).update(parts=link.parts, content=b"x" * 32)
    assert faults()
    AuditLink.objects.filter(pk=link.pk).delete()
    assert any("missing from the chain" in fault for fault in faults())


def test_what_changed_after_the_bound_is_still_a_fault(dynamic: Zone, keep: Keep, alice: User) -> None:
    publish(dynamic, alice, "www 300 A 192.0.2.99", at=LATER)
    keep(history=30)
    prune_links.prune(now=LATER)
    assert faults() == []
    Change.objects.filter(revision__number=10).delete()
    assert any("was changed" in fault for fault in faults())


def test_a_reader_that_is_behind_keeps_its_acts(dynamic: Zone, keep: Keep, monkeypatch: pytest.MonkeyPatch) -> None:
    keep(history=30, audit=30)
    monkeypatch.setattr(prune_links, "_readers", [lambda: None, lambda: 4])
    prune_links.prune(now=LATER)
    assert max(AuditLink.objects.filter(kind=PRUNED).values_list("number", flat=True)) == 4


def test_by_default_only_dynamic_updates_are_removed(dynamic: Zone) -> None:
    prune_links.prune(now=LATER)
    assert numbers(dynamic) == [1, 2, 5, 6, 9]
    assert prune_history.sequence_before(NOW) == 0
    assert prune_history.sequence_before(LATER) == Publication.objects.count() + 9
