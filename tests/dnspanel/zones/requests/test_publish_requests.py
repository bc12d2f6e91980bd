"""Publish requests: asked, approved, invalid after changes, and published once, by the right people, on time."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from dnspanel.accounts.actors.actors import (
    EVERY_RIGHT,
    PERMISSIONS,
    Actor,
    Grant,
    Permission,
    SystemRight,
    actor_of_token,
)
from dnspanel.accounts.models import AuditEntry, Membership, Role, Team, User
from dnspanel.accounts.people.same_person import set_same_person
from dnspanel.accounts.tokens.service_accounts import create_service_account
from dnspanel.accounts.tokens.token_terms import TokenTerms
from dnspanel.accounts.tokens.tokens import create_token, revoke_token
from dnspanel.zones.acting import Acting
from dnspanel.zones.drafts import draft, named_drafts
from dnspanel.zones.errors import (
    ApprovalNeeded,
    DraftRefused,
    DraftUnknown,
    Forbidden,
    Frozen,
    RequestRefused,
    RequestUnknown,
    RightMissing,
)
from dnspanel.zones.governance import publish_rules
from dnspanel.zones.governance.publish_rules import ApprovalTerms, FreezeTimes, Scope
from dnspanel.zones.log.publish_hold import hold, release
from dnspanel.zones.models import Channel, Publication, PublishRequest, RequestState, Verdict, Zone
from dnspanel.zones.publishing import edit, revision
from dnspanel.zones.publishing.zone_patches import patch_of_steps, publish_patches, replace_with
from dnspanel.zones.requests import publish_requests, request_lists, request_status
from dnspanel.zones.requests.request_status import RequestStatus
from dnspanel.zones.store.store_rrsets import rrsets_at_names
from tests.dnspanel.zones.conftest import MakeZone, rr
from tests.people import NOW, make_person

pytestmark = pytest.mark.django_db(transaction=True)

HOUR = timedelta(hours=1)
NEW = "www.example.test. 60 A 192.0.2.9"
EVERYTHING = TokenTerms("all", (Grant(EVERY_RIGHT, everywhere=True),), PERMISSIONS[Role.EDITOR])


@pytest.fixture
def zone(make_zone: MakeZone) -> Zone:
    return make_zone("www 60 A 192.0.2.1", "mail 60 A 192.0.2.2")


@pytest.fixture
def adam(db: None) -> User:
    return make_person("adam", "administrator")


@pytest.fixture
def erin(db: None) -> User:
    return make_person("erin", "editor")


@pytest.fixture
def rule(adam: User, zone: Zone) -> None:
    add_rule(adam, zone)


def add_rule(adam: User, zone: Zone, **terms: Any) -> None:
    given = ApprovalTerms(**{"role": "editor", **terms})
    publish_rules.add_approval_rule(scope=Scope(zone=zone), terms=given, reason="Four eyes", author=adam, now=NOW)


def edits(author: User | Actor, zone: Zone, *lines: str) -> None:
    for line in lines or (NEW,):
        draft.replace_rrset(author=author, zone=zone, rrset=rr(line), now=NOW)


def ask(author: User | Actor, zone: Zone, *lines: str, name: str = "Move", **terms: Any) -> PublishRequest:
    edits(author, zone, *lines)
    return publish_requests.ask(author=author, name=name, now=NOW, terms=publish_requests.Terms(**terms))


def found(request: PublishRequest) -> PublishRequest:
    return PublishRequest.objects.get(pk=request.pk)


def status(request: PublishRequest, reader: User) -> RequestStatus:
    return request_status.status_of(request_lists.request_for(reader, request.key), reader)


def approve(request: PublishRequest, by: User | Actor) -> None:
    seen = request_status.status_of(found(request), by).digest
    publish_requests.approve(request=request, by=by, seen=seen, now=NOW)


def publish(request: PublishRequest, by: User, **terms: Any) -> Publication:
    return publish_requests.publish_request(
        request=request_lists.request_for(by, request.key), by=by, channel=Channel.WEB, now=NOW, **terms
    )


def refused() -> list[tuple[str, str | None, str]]:
    """Return refused actions on requests from the audit log: the action, its author and the reason."""
    found = AuditEntry.objects.filter(action="request.refused").order_by("pk").select_related("user")
    return [(e.details["act"], e.user.username if e.user else None, e.details["refusal"]) for e in found]


def kept_back() -> list[tuple[str, str | None, str]]:
    """Return publications that rules refused, from the audit log: the zone, the author and the reason."""
    found = AuditEntry.objects.filter(action="publication.refused").order_by("pk").select_related("user")
    return [(e.target, e.user.username if e.user else None, e.details["refusal"]) for e in found]


def others_publish(zone: Zone, line: str) -> None:
    rrset = rr(line)
    step = ((rrset.name, rrset.type), replace_with(rrset))
    publish_patches(
        patches=[patch_of_steps(zone, [step])], acting=Acting(None, Channel.SYSTEM, NOW), under=SystemRight.REPAIR
    )


def www(zone: Zone) -> list[str]:
    name = "www.example.test."
    return list(rrsets_at_names({zone.pk: (zone.name, {name})})[zone.pk][name, 1].rdata)


@pytest.mark.usefixtures("rule")
def test_what_one_asks_and_another_approves_is_published_as_the_first_ones(zone: Zone, alice: User, erin: User) -> None:
    request = ask(alice, zone, reason="The new web server")
    with pytest.raises(RequestRefused, match="enough"):
        publish(request, alice)
    approve(request, erin)
    publication = publish(request, erin)
    assert (publication.author, publication.reason, www(zone)) == (alice, "The new web server", ["192.0.2.9"])
    ended = found(request)
    assert (ended.state, ended.publication_id, ended.draft) == (RequestState.PUBLISHED, publication.sequence, None)
    assert [note.by for note in request_lists.notes_of(ended)] == [erin]
    with pytest.raises(RequestRefused, match="This request is closed"):
        publish(request, alice)
    actions = list(
        AuditEntry.objects.filter(action__startswith="request.").order_by("pk").values_list("action", "user__username")
    )
    done = [("request.ask", "alice"), ("request.refused", "alice"), ("request.approve", "erin")]
    assert actions == [*done, ("request.publish", "erin")]


@pytest.mark.usefixtures("rule")
def test_neither_the_author_nor_who_worked_in_the_draft_approves_it(
    zone: Zone, alice: User, erin: User, bob: User
) -> None:
    edits(alice, zone)
    made = named_drafts.put_aside(author=alice, name="Move", now=NOW)
    named = named_drafts.named_draft(alice, made.key)
    named_drafts.share(by=alice, named=named, to=erin, may_edit=True, now=NOW)
    named_drafts.take_up(author=erin, named=named_drafts.named_draft(erin, made.key), now=NOW)
    edits(erin, zone, "mail.example.test. 60 A 192.0.2.77")
    named_drafts.put_back(by=erin, named=named_drafts.named_draft(erin, made.key), now=NOW)
    request = publish_requests.ask(author=alice, named=named_drafts.named_draft(alice, made.key), now=NOW)
    for involved in (alice, erin):
        with pytest.raises(RequestRefused, match="You can’t approve this request because one of"):
            approve(request, involved)
    publish_requests.withdraw(request=request, by=alice, now=NOW)
    # A part that is put aside alone had the same editors.
    named_drafts.take_up(author=alice, named=named_drafts.named_draft(alice, made.key), now=NOW)
    part = publish_requests.ask(author=alice, name="Part", zones=[zone], now=NOW)
    with pytest.raises(RequestRefused, match="You can’t approve this request because one of"):
        approve(part, erin)
    approve(part, make_person("frank", "editor"))


@pytest.mark.usefixtures("rule")
def test_nobody_approves_by_another_account_what_they_asked_for(
    zone: Zone, alice: User, erin: User, adam: User, bob: User
) -> None:
    """This includes tokens of a person's service account, and two accounts of the same person."""
    robot = create_service_account(name="robot", role=Role.EDITOR, by=adam, now=NOW)
    for account in (bob, robot):
        set_same_person(user=account, other=alice, by=adam, now=NOW)
    token = create_token(owner=robot, terms=EVERYTHING, by=adam, now=NOW).token
    request = ask(alice, zone)
    actor = actor_of_token(token)
    assert actor is not None
    by: User | Actor
    for by in (bob, actor):
        assert request_lists.waiting_for(by) == []
        with pytest.raises(RequestRefused, match="You can’t approve this request because one of"):
            approve(request, by)
    assert [(act, by) for act, by, _ in refused()] == [("approve", "bob"), ("approve", "robot")]
    # An earlier approval doesn't count once its author is known to be the same person.
    approve(request, erin)
    set_same_person(user=erin, other=bob, by=adam, now=NOW)
    assert not status(request, alice).is_approved
    with pytest.raises(RequestRefused):
        publish(request, alice)
    assert refused()[-1][:2] == ("publish", "alice")
    add_rule(adam, zone, needed=2)
    frank, fred = make_person("frank", "editor"), make_person("fred", "editor")
    set_same_person(user=fred, other=frank, by=adam, now=NOW)
    for person in (frank, fred):
        approve(request, person)
    assert [demand.given for demand in status(request, alice).demands] == [1, 1]
    approve(request, adam)
    publish(request, alice)


def test_a_team_or_a_role_approves_and_so_many_of_them(zone: Zone, alice: User, erin: User, adam: User) -> None:
    team = Team.objects.create(name="NOC", created_at=NOW)
    add_rule(adam, zone, needed=2, role="", team=team)
    request = ask(alice, zone)
    with pytest.raises(RequestRefused, match="members of NOC"):
        approve(request, erin)
    for person in (erin, make_person("frank", "reader")):
        Membership.objects.create(team=team, user=person, role=Role.READER)
        assert status(request, person).demands[0].is_met is False
        approve(request, person)
    assert status(request, alice).may_publish
    # The approval of a person who leaves the team doesn't count.
    Membership.objects.filter(user=erin).delete()
    with pytest.raises(RequestRefused):
        publish(request, alice)


@pytest.mark.usefixtures("rule")
def test_an_approval_is_stale_when_the_draft_or_the_rrset_beneath_it_moves(zone: Zone, alice: User, erin: User) -> None:
    request = ask(alice, zone, NEW, "new.example.test. 60 A 192.0.2.50")
    approve(request, erin)
    seen = status(request, erin).digest
    others_publish(zone, "mail.example.test. 60 A 192.0.2.3")  # another RRset: the approved ones are unchanged
    assert status(request, alice).is_approved
    others_publish(zone, "www.example.test. 60 A 192.0.2.4")
    moved = status(request, erin)
    assert (moved.is_approved, moved.own_approval is not None and moved.own_approval.moved) == (
        False,
        frozenset({f"{zone.pk} www.example.test. 1"}),
    )
    with pytest.raises(RequestRefused):
        publish(request, alice)
    with pytest.raises(RequestRefused, match="The request has changed since you opened the"):
        publish_requests.approve(request=request, by=erin, seen=seen, now=NOW)
    assert [each[:2] for each in refused()] == [("publish", "alice"), ("approve", "erin")]
    assert "The request has changed since you opened the" in refused()[1][2]


@pytest.mark.usefixtures("rule")
def test_a_draft_that_is_edited_after_its_approval_is_reviewed_again_for_what_moved(
    zone: Zone, alice: User, erin: User
) -> None:
    request = ask(alice, zone, NEW, "new.example.test. 60 A 192.0.2.50")
    approve(request, erin)
    assert found(request).draft is not None
    named = named_drafts.named_draft(alice, found(request).draft.key)  # type: ignore[union-attr]
    named_drafts.take_up(author=alice, named=named, now=NOW)
    edits(alice, zone, "www.example.test. 60 A 192.0.2.66")
    with pytest.raises(DraftRefused, match="request"):
        revision.publish(acting=Acting(alice, Channel.WEB, NOW), consent=revision.Consent(accept_warnings=True))
    named_drafts.put_back(by=alice, named=named_drafts.named_draft(alice, named.draft.key), now=NOW)
    with pytest.raises(RequestRefused):
        publish(request, alice)
    assert refused() == [
        (
            "publish",
            "alice",
            "Only the requester or an approver can publish this request, and only once it has enough approvals.",
        )
    ]
    again = status(request, erin)
    assert again.own_approval is not None
    [plan] = request_status.moved_only(again.plans, again.own_approval.moved)
    assert [change.name for change in plan.changes] == ["www.example.test."]
    approve(request, erin)
    publish(request, alice)
    assert www(zone) == ["192.0.2.66"]


@pytest.mark.usefixtures("rule")
def test_a_declined_request_gives_its_reason_and_its_draft_back(zone: Zone, alice: User, erin: User) -> None:
    request = ask(alice, zone)
    with pytest.raises(RequestRefused, match="Enter a reason to decline the request"):
        publish_requests.decline(request=request, by=erin, now=NOW, text=" ")
    publish_requests.comment(request=request, by=alice, now=NOW, text="Please look")
    publish_requests.decline(request=request, by=erin, now=NOW, text="Not in December")
    notes = request_lists.notes_of(found(request))
    assert [(note.verdict, note.text) for note in notes] == [
        (Verdict.COMMENT, "Please look"),
        (Verdict.DECLINE, "Not in December"),
    ]
    with pytest.raises(RequestRefused, match="This request is closed"):
        publish_requests.comment(request=request, by=alice, now=NOW, text="But")
    [named] = named_drafts.named_draft_page(alice)
    again = publish_requests.ask(author=alice, named=named, now=NOW)
    assert found(again).is_open


@pytest.mark.usefixtures("rule")
def test_only_who_asked_withdraws_and_a_discarded_draft_ends_its_request(zone: Zone, alice: User, erin: User) -> None:
    request = ask(alice, zone)
    with pytest.raises(RequestRefused):
        publish_requests.withdraw(request=request, by=erin, now=NOW)
    [named] = named_drafts.named_draft_page(alice)
    with pytest.raises(RequestRefused, match="already"):
        publish_requests.ask(author=alice, named=named, now=NOW)
    named_drafts.discard_named(by=alice, named=named, now=NOW)
    assert found(request).state == RequestState.WITHDRAWN


@pytest.mark.usefixtures("rule")
def test_who_sees_no_zone_of_it_knows_of_no_request(zone: Zone, alice: User, erin: User) -> None:
    request = ask(alice, zone)
    stranger = make_person("stan", "member")
    with pytest.raises(RequestUnknown):
        request_lists.request_for(stranger, request.key)
    assert found(request).draft is not None
    key = found(request).draft.key  # type: ignore[union-attr]
    with pytest.raises(DraftUnknown):
        named_drafts.named_draft(stranger, key)
    assert named_drafts.named_draft(erin, key).may_edit is False  # an approver can read its draft
    assert request_lists.waiting_for(stranger) == []
    assert request_lists.waiting_for(alice) == []
    assert request_lists.waiting_for(erin) == [request]
    approve(request, erin)
    PublishRequest.objects.get().notes.update(at=NOW + HOUR)
    assert request_lists.waiting_for(erin) == []


def test_a_request_is_published_with_the_rights_that_its_author_has_by_then(
    zone: Zone, alice: User, erin: User, adam: User
) -> None:
    add_rule(adam, zone)
    terms = TokenTerms(purpose="CI", scope=(Grant(EVERY_RIGHT, everywhere=True),))
    token = create_token(owner=alice, terms=terms, by=alice, now=NOW).token
    actor = actor_of_token(token)
    assert actor is not None
    request = ask(actor, zone)
    approve(request, erin)
    revoke_token(token=token, by=alice, now=NOW)
    with pytest.raises(RequestRefused, match="revoked"):
        publish(request, erin)
    alice.role = "reader"
    alice.save()
    PublishRequest.objects.update(token=None, by_token=False)
    with pytest.raises(Forbidden):
        publish(request, erin)


@pytest.mark.usefixtures("rule")
def test_who_governs_publishes_a_request_past_its_rules(zone: Zone, alice: User, erin: User, adam: User) -> None:
    request = ask(alice, zone)
    with pytest.raises(RightMissing):
        publish(request, erin, past_rules="Fire")
    publication = publish(request, adam, past_rules="Fire")
    assert (publication.author, found(request).state) == (adam, RequestState.PAST_RULES)
    assert request_lists.past_rules_lately(erin, since=NOW - HOUR) == [found(request)]
    assert request_lists.past_rules_lately(make_person("stan", "member"), since=NOW - HOUR) == []


def test_a_ticket_is_asked_for_when_the_request_is_made(zone: Zone, alice: User, adam: User) -> None:
    add_rule(adam, zone, needed=0, ticket="OPS-#")
    edits(alice, zone)
    with pytest.raises(RequestRefused, match="OPS-#"):
        publish_requests.ask(author=alice, name="Move", now=NOW)
    request = publish_requests.ask(author=alice, name="Move", now=NOW, terms=publish_requests.Terms("OPS-3"))
    publish(request, alice)


def test_a_planned_publication_is_published_once_at_its_time_whatever_the_clock_does(zone: Zone, alice: User) -> None:
    later = NOW + HOUR
    request = ask(alice, zone, publish_at=later)
    assert request_lists.calendar_of(zone, NOW).planned == (request,)
    assert publish_requests.publish_due(now=later - timedelta(seconds=1)) == 0
    before = Zone.objects.get(pk=zone.pk).revision
    assert publish_requests.publish_due(now=later) == 1
    for clock in (later, NOW, later + HOUR):  # set back, then at the time again
        assert publish_requests.publish_due(now=clock) == 0
    assert (Zone.objects.get(pk=zone.pk).revision, www(zone)) == (before + 1, ["192.0.2.9"])
    assert request_lists.calendar_of(zone, NOW).planned == ()


def test_a_clock_set_back_before_the_time_publishes_later_and_not_early(zone: Zone, alice: User) -> None:
    request = ask(alice, zone, publish_at=NOW + HOUR)
    assert publish_requests.publish_due(now=NOW - timedelta(seconds=30)) == 0  # the clocks of two hosts differ
    assert refused() == []
    for _ in range(2):
        assert publish_requests.publish_due(now=NOW - 5 * HOUR) == 0
    told = (
        "The panel’s clock was set back to 2026-11-21 07:00 UTC. "
        "The request will still be published at the scheduled time."
    )
    assert (refused(), found(request).refusal) == ([("publish", None, told)], told)
    assert publish_requests.publish_due(now=NOW + HOUR) == 1
    assert (found(request).state, found(request).refusal) == (RequestState.PUBLISHED, "")


@pytest.mark.usefixtures("rule")
def test_a_planned_publication_waits_for_nobody_that_did_not_approve_and_says_so(
    zone: Zone, alice: User, erin: User
) -> None:
    request = ask(alice, zone, publish_at=NOW + HOUR)
    assert publish_requests.publish_due(now=NOW + HOUR) == 0
    assert refused() == [("publish", None, found(request).refusal)]
    assert "approval from 1 person" in found(request).refusal
    assert publish_requests.publish_due(now=NOW + 2 * HOUR) == 0  # tried only once
    approve(request, erin)
    with pytest.raises(RequestRefused, match="Only the requester"):
        publish_requests.publish_at_time(request=request, by=erin, publish_at=None, now=NOW)
    publish_requests.publish_at_time(request=request, by=alice, publish_at=NOW + 3 * HOUR, now=NOW)
    assert publish_requests.publish_due(now=NOW + 3 * HOUR) == 1


def test_a_planned_publication_is_cancelled_and_waits_while_publishing_is_held(zone: Zone, alice: User) -> None:
    request = ask(alice, zone, publish_at=NOW + HOUR)
    publish_requests.publish_at_time(request=request, by=alice, publish_at=None, now=NOW)
    assert publish_requests.publish_due(now=NOW + HOUR) == 0
    publish_requests.publish_at_time(request=request, by=alice, publish_at=NOW + HOUR, now=NOW)
    hold(reason="A restored backup", now=NOW)
    assert publish_requests.publish_due(now=NOW + HOUR) == 0
    assert found(request).tried_at is None
    release()
    assert publish_requests.publish_due(now=NOW + HOUR) == 1


@pytest.mark.parametrize("at", [NOW, NOW - HOUR, NOW + timedelta(days=400)])
def test_a_time_is_ahead_and_not_too_far(at: datetime, zone: Zone, alice: User) -> None:
    edits(alice, zone)
    with pytest.raises(RequestRefused):
        publish_requests.ask(author=alice, name="Move", now=NOW, terms=publish_requests.Terms(publish_at=at))


@pytest.mark.usefixtures("rule")
def test_a_freeze_begun_between_review_and_publish_refuses_with_its_reason(
    zone: Zone, alice: User, erin: User, adam: User
) -> None:
    request = ask(alice, zone)
    approve(request, erin)
    times = FreezeTimes(NOW - HOUR, NOW + HOUR)
    publish_rules.add_freeze(scope=Scope(), times=times, reason="Year's end", author=adam, now=NOW)
    with pytest.raises(Frozen, match="Year's end"):
        publish(request, alice)
    assert [(zone_name, by, "Year's end" in told) for zone_name, by, told in kept_back()] == [
        (zone.name, "alice", True)
    ]
    assert found(request).is_open
    assert status(request, alice).is_approved


@pytest.mark.usefixtures("rule")
def test_a_draft_without_a_request_is_refused_with_the_way_to_ask(zone: Zone, alice: User) -> None:
    edits(alice, zone)
    with pytest.raises(ApprovalNeeded, match="POST /api/v2/requests"):
        revision.publish(acting=Acting(alice, Channel.WEB, NOW), consent=revision.Consent(accept_warnings=True))
    [(zone_name, by, told)] = kept_back()
    assert (zone_name, by, "need approval from 1 person" in told) == (zone.name, "alice", True)
    [plan] = revision.preview(author=alice)
    assert [rule.needed for rule in request_status.rules_for([plan], alice).approval] == [1]


def test_a_zone_and_a_person_are_told_what_is_planned_by_one_query_where_there_is_nothing(
    zone: Zone, alice: User, erin: User, adam: User, django_assert_num_queries: Any
) -> None:
    with django_assert_num_queries(1):
        assert request_lists.calendar_of(zone, NOW) == request_lists.ZoneCalendar()
    with django_assert_num_queries(1):
        assert request_lists.attention_of(erin, NOW) == request_lists.Attention()
    add_rule(adam, zone)
    request = ask(alice, zone, publish_at=NOW + HOUR)
    terms = {"author": adam, "now": NOW}
    month = FreezeTimes(NOW - HOUR, NOW + HOUR)
    frozen = publish_rules.add_freeze(scope=Scope(), times=month, reason="Year's end", **terms)
    later = FreezeTimes(NOW + HOUR, NOW + 2 * HOUR)
    soon = publish_rules.add_freeze(scope=Scope(zone=zone), times=later, reason="A move", **terms)
    calendar = request_lists.calendar_of(zone, NOW)
    assert calendar == request_lists.ZoneCalendar((request,), ((frozen, NOW + HOUR),), ((soon, NOW + HOUR),))
    assert request_lists.attention_of(erin, NOW).waiting == (request,)
    publish_requests.publish_due(now=NOW + HOUR)
    told = request_lists.attention_of(alice, NOW)
    assert (told.waiting, told.late, told.frozen) == ((), (request,), ((frozen, NOW + HOUR),))


def test_what_somebody_works_in_is_not_published_half_done(zone: Zone, alice: User) -> None:
    request = ask(alice, zone, publish_at=NOW + HOUR)
    [named] = named_drafts.named_draft_page(alice)
    named_drafts.take_up(author=alice, named=named, now=NOW)
    assert publish_requests.publish_due(now=NOW + HOUR) == 0
    assert "The request can be published once the draft has been" in found(request).refusal
    named_drafts.put_back(by=alice, named=named, now=NOW)
    publish(request, alice)


@pytest.mark.usefixtures("rule")
def test_an_approved_soa_stays_approved_while_others_publish(zone: Zone, alice: User, erin: User) -> None:
    line = "example.test. 60 SOA ns1.example.test. hostmaster.example.test. 1 3600 600 86400 60"
    request = ask(alice, zone, line)
    approve(request, erin)
    others_publish(zone, "mail.example.test. 60 A 192.0.2.3")
    assert status(request, alice).is_approved
    publish(request, alice)


def test_a_token_without_the_permission_approves_and_declines_nothing(
    zone: Zone, rule: None, alice: User, erin: User
) -> None:
    request = ask(alice, zone, NEW)
    everything = PERMISSIONS[Role.EDITOR]
    scope = (Grant(EVERY_RIGHT, everywhere=True),)
    terms = TokenTerms("all but that", scope, everything - {Permission.APPROVE})
    by = actor_of_token(create_token(owner=erin, terms=terms, by=erin, now=NOW).token)
    assert by is not None
    with pytest.raises(RequestRefused, match="token isn’t allowed to approve"):
        approve(request, by)
    with pytest.raises(RequestRefused, match="token isn’t allowed to approve"):
        publish_requests.decline(request=request, by=by, text="No", now=NOW)
    able = actor_of_token(create_token(owner=erin, terms=EVERYTHING, by=erin, now=NOW).token)
    assert able is not None
    approve(request, able)


@pytest.mark.usefixtures("rule")
def test_a_zone_below_is_created_once_its_delegation_is_approved(zone: Zone, alice: User, erin: User) -> None:
    # Previously a person had to remove the rule first.
    def create(*servers: str) -> Publication:
        return edit.create_zone(
            zone=edit.NewZone("shop.example.test.", [rr("shop 300 A 192.0.2.7")]),
            acting=Acting(alice, Channel.WEB, NOW),
            apex=edit.Apex(servers),
        )

    with pytest.raises(ApprovalNeeded, match="Add the new zone’s NS records to a draft for"):
        create("ns1.example.net.", "ns2.example.net.")
    request = ask(alice, zone, "shop 300 NS ns1.example.net. | ns2.example.net.")
    with pytest.raises(ApprovalNeeded):
        create("ns1.example.net.", "ns2.example.net.")
    approve(request, erin)
    publish(request, alice)
    with pytest.raises(ApprovalNeeded):  # other name servers were not approved
        create("ns1.example.net.", "ns3.example.net.")
    made = create("NS2.example.net.", "ns1.example.net.")
    edit.delete_zone(zone=Zone.objects.get(sequence=made.sequence), acting=Acting(alice, Channel.WEB, NOW))
    edit.restore_zone(zone=Zone.objects.get(sequence=made.sequence + 1), author=alice, channel=Channel.WEB, now=NOW)


def test_a_rule_that_is_not_about_delegations_is_not_passed_by_one(zone: Zone, alice: User, adam: User) -> None:
    add_rule(adam, zone, types=(16,))
    others_publish(zone, "shop 300 NS ns1.example.net.")
    with pytest.raises(ApprovalNeeded):
        edit.create_zone(
            zone=edit.NewZone("shop.example.test."),
            apex=edit.Apex(nameservers=["ns1.example.net."]),
            acting=Acting(alice, Channel.WEB, NOW),
        )
