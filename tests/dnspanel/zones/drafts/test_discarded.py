"""The undo of discarded drafts within a period."""

from datetime import timedelta

import pytest

from dnspanel.accounts.models import AuditEntry, User
from dnspanel.accounts.quotas.quota_amounts import Kind
from dnspanel.accounts.quotas.quota_edit import set_quotas
from dnspanel.zones.drafts import draft, named_drafts
from dnspanel.zones.drafts.discarded import KEPT, MOST_KEPT, discard, discarded_by, forget_discarded, take_back
from dnspanel.zones.errors import DraftRefused, DraftUnknown
from dnspanel.zones.lists import queries
from dnspanel.zones.models import Draft, Operation, Zone
from tests.dnspanel.zones.conftest import ZONE, MakeZone, rr
from tests.people import NOW

LATER = NOW + timedelta(minutes=1)


def edits(author: User, zone: Zone, *lines: str) -> None:
    for line in lines:
        draft.replace_rrset(author=author, zone=zone, rrset=rr(line, origin=zone.name), now=NOW)


def drafted(author: User) -> set[str]:
    return {operation.name.removesuffix("." + ZONE) for operation in draft.operations_of(author)}


def test_discarded_changes_come_back_as_they_were(bob: User, alice: User, zone: Zone, make_zone: MakeZone) -> None:
    other = make_zone(name="other.test.")
    edits(bob, zone, "a 300 A 192.0.2.1", "www 60 A 192.0.2.7")
    edits(bob, other, "b 300 A 192.0.2.1")
    before = list(draft.operations_of(bob).order_by("pk").values("zone", "name", "base", "wanted", "base_revision"))
    assert discard(author=bob, now=NOW) == 3
    assert drafted(bob) == set()
    assert queries.draft_summary(author=bob) == ()
    [kept] = discarded_by(bob, now=LATER)
    assert (kept.changes, kept.zones, kept.first_zone, kept.until) == (3, 2, ZONE, NOW + KEPT)
    assert discarded_by(alice, now=LATER) == []
    with pytest.raises(DraftUnknown):
        take_back(author=alice, draft_id=kept.id, now=LATER)
    assert take_back(author=bob, draft_id=kept.id, now=LATER) == 3
    after = draft.operations_of(bob).order_by("pk").values("zone", "name", "base", "wanted", "base_revision")
    assert list(after) == before
    assert discarded_by(bob, now=LATER) == []
    acts = AuditEntry.objects.filter(action__startswith="draft.").order_by("pk").values_list("action", flat=True)
    assert list(acts) == ["draft.discard", "draft.take-back"]


def test_what_was_drafted_anew_meanwhile_stays(bob: User, zone: Zone) -> None:
    edits(bob, zone, "a 300 A 192.0.2.1", "b 300 A 192.0.2.1")
    discard(author=bob, now=NOW, zone=zone)
    edits(bob, zone, "c 300 A 192.0.2.1")
    [kept] = discarded_by(bob, now=LATER)
    edits(bob, zone, "b 300 A 192.0.2.2")
    with pytest.raises(DraftRefused, match="Both drafts change A b"):
        take_back(author=bob, draft_id=kept.id, now=LATER)
    assert drafted(bob) == {"b", "c"}
    draft.drop_operation(author=bob, zone=zone, name="b." + ZONE, type=1)
    take_back(author=bob, draft_id=kept.id, now=LATER)
    assert drafted(bob) == {"a", "b", "c"}


def test_who_worked_in_it_still_did_when_it_comes_back(bob: User, alice: User, zone: Zone) -> None:
    """An editor of a draft cannot approve it, even after a discarded draft was restored."""
    edits(alice, zone, "a 300 A 192.0.2.1")
    made = named_drafts.put_aside(author=alice, name="Ours", now=NOW)
    named = named_drafts.named_draft(alice, made.key)
    named_drafts.share(by=alice, named=named, to=bob, may_edit=True, now=NOW)
    named_drafts.take_up(author=bob, named=named_drafts.named_draft(bob, made.key), now=NOW)
    discard(author=bob, now=NOW)
    named_drafts.put_back(by=bob, named=named_drafts.named_draft(bob, made.key), now=NOW)
    [kept] = discarded_by(bob, now=LATER)
    take_back(author=bob, draft_id=kept.id, now=LATER)
    assert {alice.pk, bob.pk} <= set(Draft.objects.get(author=bob).worked_in)


def test_nothing_discarded_is_nothing_kept_and_only_the_last_are(bob: User, zone: Zone) -> None:
    assert discard(author=bob, now=NOW) == 0
    for number in range(MOST_KEPT + 2):
        edits(bob, zone, f"h{number} 300 A 192.0.2.1")
        discard(author=bob, now=NOW + timedelta(minutes=number))
    kept = discarded_by(bob, now=LATER)
    assert [each.at - NOW for each in kept] == [timedelta(minutes=number) for number in range(MOST_KEPT + 1, 1, -1)]
    assert Operation.objects.count() == MOST_KEPT


def test_after_its_time_it_is_gone(bob: User, zone: Zone) -> None:
    edits(bob, zone, "a 300 A 192.0.2.1")
    discard(author=bob, now=NOW)
    [kept] = discarded_by(bob, now=LATER)
    assert forget_discarded(now=NOW + KEPT - timedelta(seconds=1)) == 0
    assert discarded_by(bob, now=NOW + KEPT) == []
    with pytest.raises(DraftUnknown):
        take_back(author=bob, draft_id=kept.id, now=NOW + KEPT)
    assert forget_discarded(now=NOW + KEPT) == 1
    assert not Draft.objects.filter(discarded_at__isnull=False).exists()


def test_it_is_no_draft_with_a_name_and_takes_no_quota(bob: User, alice: User, zone: Zone) -> None:
    set_quotas(of=bob, quotas={Kind.DRAFTS: 1}, by=alice, now=NOW)
    for number in range(2):
        edits(bob, zone, f"h{number} 300 A 192.0.2.1")
        discard(author=bob, now=NOW)
    assert named_drafts.named_draft_page(bob) == []
    assert list(named_drafts.drafts_of(bob)) == []
    edits(bob, zone, "a 300 A 192.0.2.1")
    named_drafts.put_aside(author=bob, name="Mine", now=NOW)
    assert [each.draft.name for each in named_drafts.named_draft_page(bob)] == ["Mine"]
