"""Named drafts: put aside, taken up and shared, with their people (`rights.known_people`) and parts."""

from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import pytest
from django.db import connection, connections
from django.test.utils import CaptureQueriesContext

from dnspanel.accounts.actors.actors import EVERY_RIGHT, Actor, Grant, actor_of_token
from dnspanel.accounts.models import AuditEntry, Membership, Role, Team, User
from dnspanel.accounts.quotas.quota_amounts import Kind
from dnspanel.accounts.quotas.quota_edit import set_quotas
from dnspanel.accounts.rights.known_people import people_known_to, teams_known_to
from dnspanel.accounts.tokens.token_terms import TokenTerms
from dnspanel.accounts.tokens.tokens import create_token
from dnspanel.zones.acting import Acting
from dnspanel.zones.drafts import draft
from dnspanel.zones.drafts import named_drafts as named
from dnspanel.zones.drafts.discarded import discard
from dnspanel.zones.errors import (
    Conflicts,
    DraftRefused,
    DraftUnknown,
    Forbidden,
    NothingToPublish,
    QuotaExceeded,
    RightMissing,
)
from dnspanel.zones.lists import queries, rrset_pages
from dnspanel.zones.models import Draft, Operation, Zone
from dnspanel.zones.publishing import revision
from dnspanel.zones.rights import access
from replication.dns import rdtypes
from tests.dnspanel.zones.conftest import ZONE, MakeZone, rr
from tests.people import NOW, make_person

OTHER = "other.test."


def edits(author: User | Actor, zone: Zone, *lines: str) -> None:
    for line in lines:
        draft.replace_rrset(author=author, zone=zone, rrset=rr(line, origin=zone.name), now=NOW)


def aside(author: User, zone: Zone, *lines: str, name: str = "Move") -> named.NamedDraft:
    """Create a draft with these lines, put it aside, and return it."""
    edits(author, zone, *lines)
    return named.named_draft(author, named.put_aside(author=author, name=name, now=NOW).key)


def names_in(author: User) -> set[str]:
    return {operation.name.removesuffix("." + ZONE) for operation in draft.operations_of(author)}


def again(reader: User | Actor, of: named.NamedDraft) -> named.NamedDraft:
    return named.named_draft(reader, of.draft.key)


def share(of: named.NamedDraft, by: User, to: User | Team, *, may_edit: bool = False) -> None:
    named.share(by=by, named=of, to=to, may_edit=may_edit, now=NOW)


@pytest.fixture
def mia(db: None) -> User:
    """Return a person who sees and edits only her team's zones."""
    return make_person("mia", Role.MEMBER)


@pytest.fixture
def team(mia: User, zone: Zone) -> Team:
    team = Team.objects.create(name="Web", created_at=NOW)
    Membership.objects.create(team=team, user=mia, role=Role.EDITOR)
    zone.team = team
    zone.save(update_fields=["team"])
    return team


def test_what_is_put_aside_is_in_nobodys_hands_and_taken_up_as_it_was(bob: User, zone: Zone) -> None:
    move = aside(bob, zone, "www 60 A 192.0.2.8", "new 60 A 192.0.2.9", name="  Move \t to Paris ")
    assert (move.draft.name, move.changes, move.zones, move.first_zone) == ("Move to Paris", 2, 1, ZONE)
    assert move.is_own
    assert move.is_aside
    assert names_in(bob) == set()
    assert queries.draft_summary(author=bob) == ()
    named.take_up(author=bob, named=move, now=NOW)
    assert names_in(bob) == {"www", "new"}
    assert not again(bob, move).is_aside
    assert draft.edit_of(Operation.objects.get(name="www." + ZONE)).change.before == rr(
        "www 300 A 192.0.2.1 | 192.0.2.2"
    )


def test_some_zones_are_put_aside_and_the_others_stay(bob: User, zone: Zone, make_zone: MakeZone) -> None:
    other = make_zone(name=OTHER)
    edits(bob, zone, "www 60 A 192.0.2.8")
    edits(bob, other, "new 60 A 192.0.2.8")
    made = named.put_aside(author=bob, name="Other", now=NOW, zones=[other])
    assert list(made.operations.values_list("zone__name", flat=True)) == [OTHER]
    assert names_in(bob) == {"www"}


@pytest.mark.parametrize("name", ["", " \t", "x" * 81, "bell\a", "Move"])
def test_a_name_that_cannot_be_changes_nothing(bob: User, zone: Zone, name: str) -> None:
    aside(bob, zone, "new 60 A 192.0.2.8", name="Move")
    edits(bob, zone, "www 60 A 192.0.2.8")
    with pytest.raises(DraftRefused):
        named.put_aside(author=bob, name=name, now=NOW)
    assert names_in(bob) == {"www"}


def test_nothing_is_put_aside_where_nothing_is(bob: User, charlie: User, zone: Zone) -> None:
    with pytest.raises(DraftRefused, match="Your draft doesn’t have changes to save"):
        named.put_aside(author=bob, name="Move", now=NOW)
    with pytest.raises(Forbidden):
        named.put_aside(author=charlie, name="Move", now=NOW)
    assert not Draft.objects.exclude(name="").exists()


def test_what_one_had_in_hand_is_put_aside_or_merged_never_lost(bob: User, zone: Zone) -> None:
    move = aside(bob, zone, "www 60 A 192.0.2.8")
    edits(bob, zone, "new 60 A 192.0.2.9")
    with pytest.raises(DraftRefused, match="Your current draft has 1 change"):
        named.take_up(author=bob, named=move, now=NOW)
    named.take_up(author=bob, named=move, now=NOW, aside="Rest")
    assert names_in(bob) == {"www"}
    rest = Draft.objects.get(name="Rest")
    assert [o.name for o in rest.operations.all()] == ["new." + ZONE]
    # A named draft in use is put aside again under its name.
    named.take_up(author=bob, named=again(bob, named.NamedDraft(rest, True, True)), now=NOW)
    assert names_in(bob) == {"new"}
    assert again(bob, move).is_aside
    named.put_back(by=bob, named=named.NamedDraft(rest, True, True), now=NOW)
    edits(bob, zone, "more 60 A 192.0.2.9")
    named.take_up(author=bob, named=move, now=NOW, merge=True)
    assert names_in(bob) == {"www", "more"}
    assert Draft.objects.filter(author=bob).get().name == "Move"


def test_a_merge_of_two_edits_of_one_rrset_is_refused_and_changes_nothing(bob: User, zone: Zone) -> None:
    move = aside(bob, zone, "www 60 A 192.0.2.8")
    edits(bob, zone, "www 61 A 192.0.2.9", "new 60 A 192.0.2.9")
    with pytest.raises(DraftRefused, match=r"Both drafts change A www\.example\.test\."):
        named.take_up(author=bob, named=move, now=NOW, merge=True)
    assert names_in(bob) == {"www", "new"}
    assert again(bob, move).is_aside


def test_a_merge_beyond_the_quota_is_refused(bob: User, zone: Zone) -> None:
    move = aside(bob, zone, "www 60 A 192.0.2.8")
    edits(bob, zone, "new 60 A 192.0.2.9")
    set_quotas(of=bob, quotas={Kind.OPERATIONS: 1}, by=None, now=NOW)
    bob.refresh_from_db()
    with pytest.raises(QuotaExceeded):
        named.take_up(author=bob, named=move, now=NOW, merge=True)
    assert names_in(bob) == {"new"}


def test_only_whom_it_is_shared_with_knows_of_it(alice: User, bob: User, charlie: User, zone: Zone) -> None:
    move = aside(bob, zone, "www 60 A 192.0.2.8")
    for stranger in (alice, charlie):
        assert named.named_draft_page(stranger) == []
        with pytest.raises(DraftUnknown):
            again(stranger, move)
    share(move, bob, charlie)
    (shared,) = named.named_draft_page(charlie)
    assert (shared.is_own, shared.may_edit, shared.changes) == (False, False, 1)
    with pytest.raises(DraftUnknown):
        again(alice, move)
    with pytest.raises(DraftUnknown):
        named.named_draft(bob, uuid4())
    share_id = move.draft.shares.get().pk
    named.unshare(by=bob, named=move, share_id=share_id, now=NOW)
    assert named.named_draft_page(charlie) == []


def test_a_link_opens_it_to_who_sees_one_of_its_zones(
    bob: User, charlie: User, mia: User, zone: Zone, make_zone: MakeZone
) -> None:
    move = aside(bob, zone, "www 60 A 192.0.2.8")
    named.open_by_link(by=bob, named=move, is_open=True, now=NOW)
    assert again(charlie, move).changes == 1
    assert not again(charlie, move).may_edit
    assert named.named_draft_page(charlie) == []
    with pytest.raises(DraftUnknown):
        again(mia, move)  # she cannot see any zone
    named.open_by_link(by=bob, named=move, is_open=False, now=NOW)
    with pytest.raises(DraftUnknown):
        again(charlie, move)


def test_somebody_sees_and_publishes_only_what_is_in_zones_that_they_see(
    bob: User, mia: User, team: Team, zone: Zone, make_zone: MakeZone
) -> None:
    edits(bob, make_zone(name=OTHER), "hidden 60 A 192.0.2.8")
    move = aside(bob, zone, "www 60 A 192.0.2.8")
    share(move, bob, team, may_edit=True)
    mine = again(mia, move)
    assert (mine.changes, mine.zones, mine.first_zone, mine.may_edit) == (1, 1, ZONE, True)
    assert [plan.zone.name for plan in revision.preview(author=mia, of=mine)] == [ZONE]
    with pytest.raises(DraftRefused, match="changes that you aren’t allowed to see"):
        named.take_up(author=mia, named=mine, now=NOW)
    publication = revision.publish(
        acting=Acting(mia, "web", NOW), of=mine, consent=revision.Consent(accept_warnings=True)
    )
    assert [each.zone.name for each in publication.revisions.all()] == [ZONE]
    assert publication.author == mia
    (left,) = Operation.objects.all()
    assert left.name == "hidden." + OTHER


def test_who_may_read_it_neither_takes_it_up_nor_publishes_it(alice: User, bob: User, zone: Zone) -> None:
    move = aside(bob, zone, "www 60 A 192.0.2.8")
    share(move, bob, alice)
    hers = again(alice, move)
    with pytest.raises(Forbidden, match="You can only view this draft"):
        named.take_up(author=alice, named=hers, now=NOW)
    with pytest.raises(Forbidden, match="You can only view this draft"):
        revision.publish(acting=Acting(alice, "web", NOW), of=hers)
    for act in (
        lambda: named.rename(by=alice, named=hers, name="Hers", now=NOW),
        lambda: named.discard_named(by=alice, named=hers, now=NOW),
        lambda: share(hers, alice, alice, may_edit=True),
        lambda: named.unshare(by=alice, named=hers, share_id=move.draft.shares.get().pk, now=NOW),
        lambda: named.open_by_link(by=alice, named=hers, is_open=True, now=NOW),
        lambda: named.put_back(by=alice, named=hers, now=NOW),
    ):
        with pytest.raises(DraftUnknown):
            act()
    assert again(bob, move).changes == 1


def test_publishing_needs_the_publishers_own_rights(bob: User, mia: User, team: Team, zone: Zone) -> None:
    move = aside(bob, zone, "www 60 A 192.0.2.8")
    share(move, bob, mia, may_edit=True)
    Membership.objects.update(role=Role.READER)
    Membership.objects.create(
        team=Team.objects.create(name="Mail", created_at=NOW), user=mia, role=Role.EDITOR
    )  # so she may edit in another zone
    mia = User.objects.get(pk=mia.pk)
    with pytest.raises(RightMissing, match="You don’t have permission to change"):
        revision.publish(acting=Acting(mia, "web", NOW), of=again(mia, move))
    assert again(bob, move).changes == 1


def test_one_person_works_in_it_at_a_time_and_its_owner_takes_it_back(alice: User, bob: User, zone: Zone) -> None:
    move = aside(bob, zone, "www 60 A 192.0.2.8")
    share(move, bob, alice, may_edit=True)
    named.take_up(author=alice, named=again(alice, move), now=NOW)
    edits(alice, zone, "new 60 A 192.0.2.9")
    with pytest.raises(DraftRefused, match="alice is working on this draft"):
        named.take_up(author=bob, named=again(bob, move), now=NOW)
    with pytest.raises(DraftRefused, match="alice is working on this draft"):
        revision.publish(acting=Acting(bob, "web", NOW), of=again(bob, move))
    named.put_back(by=bob, named=move, now=NOW)
    assert names_in(alice) == set()
    named.take_up(author=bob, named=move, now=NOW)
    assert names_in(bob) == {"www", "new"}


def test_who_may_not_edit_it_any_more_does_not_keep_it(
    alice: User, bob: User, mia: User, team: Team, zone: Zone
) -> None:
    move = aside(bob, zone, "www 60 A 192.0.2.8")
    share(move, bob, mia, may_edit=True)
    share(move, bob, team, may_edit=True)
    named.take_up(author=mia, named=again(mia, move), now=NOW)
    named.unshare(by=bob, named=move, share_id=move.draft.shares.get(user=mia).pk, now=NOW)
    assert not again(bob, move).is_aside  # through her team
    share(move, bob, team, may_edit=False)
    assert again(bob, move).is_aside
    assert names_in(mia) == set()


def test_a_conflict_is_found_when_it_is_published_and_settled_when_it_is_taken_up(
    alice: User, bob: User, zone: Zone
) -> None:
    move = aside(bob, zone, "www 60 A 192.0.2.8")
    edits(alice, zone, "www 61 A 192.0.2.1")
    revision.publish(acting=Acting(alice, "web", NOW), consent=revision.Consent(accept_warnings=True))
    with pytest.raises(Conflicts):
        revision.publish(acting=Acting(bob, "web", NOW), of=move)
    named.take_up(author=bob, named=move, now=NOW)
    draft.resolve(author=bob, operation_id=Operation.objects.get().pk, choice="mine", now=NOW)
    revision.publish(acting=Acting(bob, "web", NOW), consent=revision.Consent(accept_warnings=True))
    assert rrset_pages.rrset_row(zone=zone, author=bob, name="www." + ZONE, type=rdtypes.A).change.before == rr(
        "www 60 A 192.0.2.8"
    )


def test_what_is_published_or_emptied_is_gone(bob: User, zone: Zone) -> None:
    move = aside(bob, zone, "www 60 A 192.0.2.8")
    form = uuid4()
    first = revision.publish(
        acting=Acting(bob, "web", NOW, form_id=form), of=move, consent=revision.Consent(accept_warnings=True)
    )
    with pytest.raises(DraftUnknown):
        again(bob, move)
    with pytest.raises(DraftUnknown):
        revision.publish(acting=Acting(bob, "web", NOW), of=move)
    assert first.revisions.count() == 1
    taken = aside(bob, zone, "www 61 A 192.0.2.8", name="Taken")
    named.take_up(author=bob, named=taken, now=NOW)
    discard(author=bob, now=NOW)
    named.put_back(by=bob, named=taken, now=NOW)
    assert not Draft.objects.exclude(name="").exists()
    with pytest.raises(NothingToPublish):
        revision.publish(acting=Acting(bob, "web", NOW))


def test_it_is_renamed_and_discarded_by_its_owner(bob: User, zone: Zone) -> None:
    move = aside(bob, zone, "www 60 A 192.0.2.8")
    aside(bob, zone, "new 60 A 192.0.2.8", name="Other")
    named.rename(by=bob, named=move, name="Moved", now=NOW)
    assert again(bob, move).draft.name == "Moved"
    with pytest.raises(DraftRefused, match="You already have a draft with this name"):
        named.rename(by=bob, named=move, name="Other", now=NOW)
    assert named.discard_named(by=bob, named=move, now=NOW) == 1
    assert [each.draft.name for each in named.named_draft_page(bob)] == ["Other"]
    newest = [(entry.action, entry.target) for entry in AuditEntry.objects.order_by("-pk")[:3]]
    assert newest == [("draft.discard", "Moved"), ("draft.rename", "Moved"), ("draft.put-aside", "Other")]


def test_so_many_and_no_more(bob: User, charlie: User, zone: Zone, monkeypatch: pytest.MonkeyPatch) -> None:
    set_quotas(of=bob, quotas={Kind.DRAFTS: 1}, by=None, now=NOW)
    bob.refresh_from_db()
    move = aside(bob, zone, "www 60 A 192.0.2.8")
    edits(bob, zone, "new 60 A 192.0.2.8")
    with pytest.raises(QuotaExceeded, match="Quota exceeded: limit 1 saved draft"):
        named.put_aside(author=bob, name="Other", now=NOW)
    assert names_in(bob) == {"new"}
    monkeypatch.setattr(named, "MOST_SHARES", 0)
    with pytest.raises(DraftRefused, match="at most 0"):
        share(move, bob, charlie)
    with pytest.raises(DraftRefused, match="You already own this draft"):
        share(move, bob, bob)


def test_others_are_told_of_what_somebody_works_in_only(alice: User, bob: User, zone: Zone) -> None:
    move = aside(bob, zone, "www 60 A 192.0.2.8")
    assert queries.others_drafting(zone=zone, author=alice) == ()
    named.take_up(author=bob, named=move, now=NOW)
    assert queries.others_drafting(zone=zone, author=alice) == (("bob", 1),)


def test_a_token_puts_aside_and_publishes_what_it_sees(bob: User, zone: Zone) -> None:
    terms = TokenTerms("test", (Grant(EVERY_RIGHT, zones=frozenset({zone.pk}), names=("www",)),))
    token = actor_of_token(create_token(owner=bob, terms=terms, by=bob, now=NOW).token)
    assert token is not None
    edits(bob, zone, "www 60 A 192.0.2.8", "new 60 A 192.0.2.9")
    move = again(bob, named.NamedDraft(named.put_aside(author=token, name="Move", now=NOW), True, True))
    assert (move.changes, names_in(bob)) == (1, {"new"})
    named.take_up(author=bob, named=move, now=NOW, merge=True)
    named.put_back(by=bob, named=move, now=NOW)
    seen = again(token, move)
    assert seen.changes == 1
    with pytest.raises(DraftRefused, match="aren’t allowed to see"):
        named.take_up(author=token, named=seen, now=NOW)
    assert access.visibility_of(token, zone) is not None
    assert [o.name for o in named.operations_seen(token, move.draft)] == ["www." + ZONE]


def test_pages_and_how_many_queries_they_take(bob: User, zone: Zone) -> None:
    made = [aside(bob, zone, "www 60 A 192.0.2.8", name=f"Draft {number}").draft.pk for number in range(4)]
    first = named.named_draft_page(bob, limit=3)
    rest = named.named_draft_page(bob, limit=3, before=first[-1].draft.pk)
    assert [each.draft.pk for each in (*first, *rest)] == made[::-1]

    def cost(limit: int) -> int:
        with CaptureQueriesContext(connection) as captured:
            named.named_draft_page(bob, limit=limit)
        return len(captured)

    assert cost(1) == cost(4) == 4


def test_who_sees_their_teams_only_shares_with_those(
    alice: User, bob: User, charlie: User, mia: User, team: Team, zone: Zone
) -> None:
    Membership.objects.create(team=team, user=charlie, role=Role.READER)
    other = Team.objects.create(name="Mail", created_at=NOW)
    move = aside(mia, zone, "www 60 A 192.0.2.8")
    assert list(people_known_to(mia)) == [charlie]
    assert list(teams_known_to(mia)) == [team]
    assert list(people_known_to(bob)) == [alice, charlie, mia]
    assert list(teams_known_to(bob)) == [other, team]
    for to in (bob, other):
        with pytest.raises(DraftRefused, match="Person or team not found"):
            share(move, mia, to)
    share(move, mia, charlie, may_edit=True)
    theirs = again(charlie, move)
    assert not theirs.may_edit  # a reader, even if the draft is shared
    with pytest.raises(Forbidden):
        named.take_up(author=charlie, named=theirs, now=NOW)


@pytest.mark.django_db(transaction=True)
def test_of_two_who_take_it_up_at_once_one_has_it(zone: Zone, alice: User, bob: User) -> None:
    """Both people also keep their current drafts."""
    move = aside(bob, zone, "www 60 A 192.0.2.8")
    share(move, bob, alice, may_edit=True)
    for person in (alice, bob):
        edits(person, zone, f"of-{person.username} 60 A 192.0.2.9")

    def take(person: User) -> bool:
        try:
            named.take_up(author=person, named=again(person, move), now=NOW, aside=f"Rest of {person.username}")
        except DraftRefused:
            return False
        finally:
            connections.close_all()
        return True

    with ThreadPoolExecutor(2) as pool:
        taken = list(pool.map(take, (alice, bob)))
    assert sorted(taken) == [False, True]
    winner, loser = (alice, bob) if taken[0] else (bob, alice)
    assert names_in(winner) == {"www"}
    assert names_in(loser) == {f"of-{loser.username}"}
    assert [o.name for o in Draft.objects.get(name=f"Rest of {winner.username}").operations.all()] == [
        f"of-{winner.username}.{ZONE}"
    ]
