"""Tests of event collection: each event is found once, and sent to everyone who is allowed to see it."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection

from dnspanel.accounts.actors.actors import Grant, Right, actor_of
from dnspanel.accounts.models import User
from dnspanel.accounts.tokens.tokens import revoke_token
from dnspanel.fleet.models import Node
from dnspanel.fleet.nodes import node_lifecycle
from dnspanel.transfer.models import ImportJob, State
from dnspanel.webhooks import collect_events as module
from dnspanel.webhooks.collect_events import collect_events
from dnspanel.webhooks.deliver_events import deliver_next
from dnspanel.webhooks.messages import line_of
from dnspanel.webhooks.models import Delivery, Event, EventKind, Watch, Webhook
from dnspanel.webhooks.payload import Listener, contents
from dnspanel.webhooks.post import Answer
from dnspanel.zones.acting import Acting
from dnspanel.zones.drafts.draft import replace_rrset
from dnspanel.zones.models import LogHead, Publication, Zone
from dnspanel.zones.publishing import edit
from dnspanel.zones.requests import publish_requests
from tests.dnspanel.fleet.conftest import MakeNode
from tests.dnspanel.webhooks.conftest import MakeWebhook
from tests.dnspanel.webhooks.happening import give, hear, import_ended, later, notice_all, prove, publish, told
from tests.dnspanel.webhooks.test_hooks import URL, token_actor
from tests.dnspanel.zones.conftest import rr
from tests.people import NOW

SAVED, EVERYWHERE, NODE, IMPORT = "publication.saved", "publication.everywhere", "node.state", "import.finished"


def test_nothing_is_noticed_as_long_as_nobody_ever_had_a_webhook(bob: User, django_assert_num_queries: Any) -> None:
    publish("one.test.", bob)
    with django_assert_num_queries(3):  # a savepoint, one query, and its release
        assert collect_events(now=NOW) == 0
    assert not Watch.objects.exists()


def test_a_publication_is_told_of_once(bob: User, webhook: MakeWebhook) -> None:
    webhook(bob)
    publish("one.test.", bob)
    publish("two.test.", bob)
    assert notice_all() == [(SAVED, {"sequence": 1}), (SAVED, {"sequence": 2})]
    assert notice_all() == []
    assert told() == [("bob", SAVED)] * 2
    assert set(Delivery.objects.values_list("state", "next_at")) == {("waiting", NOW)}


def test_what_happened_before_the_first_webhook_or_before_one_is_not_told(bob: User, webhook: MakeWebhook) -> None:
    publish("before.test.", bob)
    webhook(bob, "https://receiver.test/first")
    publish("between.test.", bob)
    Webhook.objects.update(created_at=NOW)
    second = webhook(bob, "https://receiver.test/second").webhook
    Webhook.objects.filter(pk=second.pk).update(created_at=later(1))
    publish("after.test.", bob, now=later(2))
    assert [facts["sequence"] for _, facts in notice_all()] == [2, 3]
    assert Delivery.objects.filter(webhook=second).count() == 1


def test_publications_are_told_of_in_portions_and_none_is_lost(
    bob: User, webhook: MakeWebhook, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "BATCH", 2)
    webhook(bob)
    for number in range(5):
        publish(f"n{number}.test.", bob)
    assert collect_events(now=NOW) == 2
    assert [facts["sequence"] for _, facts in notice_all()] == [3, 4, 5]


def test_a_look_that_breaks_off_leaves_everything_for_the_next_one(
    bob: User, webhook: MakeWebhook, monkeypatch: pytest.MonkeyPatch
) -> None:
    webhook(bob)
    publish("one.test.", bob)

    def killed(*_: object) -> None:
        raise SystemExit

    with monkeypatch.context() as patch:
        patch.setattr(module, "_tell", killed)
        with pytest.raises(SystemExit):
            collect_events(now=NOW)
    assert not Event.objects.exists()
    assert notice_all() == [(SAVED, {"sequence": 1})]
    assert told() == [("bob", SAVED)]


def test_everywhere_is_when_the_last_node_has_proved_it(bob: User, webhook: MakeWebhook, active_node: MakeNode) -> None:
    one, two = active_node("ns1"), active_node("ns2")
    webhook(bob, "https://receiver.test/", EVERYWHERE)
    publish("one.test.", bob)
    publish("two.test.", bob)
    prove(one, 2, now=later(0.02))
    assert notice_all() == []
    prove(two, 1, now=later(0.05))
    assert [facts["sequence"] for _, facts in notice_all()] == [1]
    prove(two, 2, now=later(0.09))
    [(_, facts)] = notice_all()
    assert facts == {
        "sequence": 2,
        "everywhere_at": "2026-11-21T12:00:00.090Z",
        "nodes": [
            {"node": "ns1", "reached_at": "2026-11-21T12:00:00.020Z", "ms": 20.0},
            {"node": "ns2", "reached_at": "2026-11-21T12:00:00.090Z", "ms": 90.0},
        ],
    }


def test_failed_publications_in_between_hide_no_proof(bob: User, webhook: MakeWebhook, active_node: MakeNode) -> None:
    node = active_node("ns1")
    webhook(bob, "https://receiver.test/", EVERYWHERE)
    for number in range(1, 6):
        publish(f"z{number}.test.", bob)
        prove(node, number, now=later(number / 100))
    Publication.objects.filter(sequence__in=(2, 3, 4)).update(failed_reason="SERVFAIL")
    assert [facts["nodes"][0]["ms"] for _, facts in notice_all()] == [10.0, 50.0]


def test_a_node_that_takes_no_pushes_is_not_waited_for(bob: User, webhook: MakeWebhook, active_node: MakeNode) -> None:
    one, two = active_node("ns1"), active_node("ns2")
    webhook(bob, "https://receiver.test/", EVERYWHERE)
    publish("one.test.", bob)
    prove(one, 1)
    assert notice_all() == []
    node_lifecycle.drain(node=two, now=NOW, by=None)
    assert [facts["sequence"] for _, facts in notice_all()] == [1]


def test_a_proof_of_another_epoch_proves_nothing(bob: User, webhook: MakeWebhook, active_node: MakeNode) -> None:
    node = active_node("ns1")
    webhook(bob, "https://receiver.test/", EVERYWHERE)
    publish("one.test.", bob)
    prove(node, 1)
    Node.objects.update(epoch=uuid4())
    assert notice_all() == []


def test_a_new_node_does_not_tell_old_publications_again(
    bob: User, webhook: MakeWebhook, active_node: MakeNode
) -> None:
    webhook(bob, "https://receiver.test/", EVERYWHERE)
    publish("one.test.", bob)
    prove(active_node("ns1"), 1)
    assert len(notice_all()) == 1
    newer = active_node("ns2")
    publish("two.test.", bob)
    assert notice_all() == []
    prove(Node.objects.get(name="ns1"), 2)
    prove(newer, 2)
    assert [facts["sequence"] for _, facts in notice_all()] == [2]


def test_the_state_of_the_canary_is_told_as_any_node_s(bob: User, webhook: MakeWebhook, active_node: MakeNode) -> None:
    node = active_node("ring0")
    Node.objects.filter(pk=node.pk).update(is_ring0=True)
    publish("one.test.", bob)
    prove(node, 1)
    webhook(bob, "https://receiver.test/", NODE)
    Node.objects.update(refusal="its disk is full")
    assert notice_all(later(10)) == []
    [(_, facts)] = notice_all(later(20))
    assert (facts["node"], facts["state"]) == ("ring0", "rejecting")


def test_a_node_s_state_is_told_when_it_has_lasted(bob: User, webhook: MakeWebhook, active_node: MakeNode) -> None:
    node = active_node("ns1")
    publish("one.test.", bob)
    prove(node, 1)
    webhook(bob, "https://receiver.test/", NODE)  # live now
    hear(node, now=later(1))
    assert notice_all(later(2)) == []
    assert notice_all(later(20)) == []  # offline, for the first time
    [(kind, facts)] = notice_all(later(27))
    assert (kind, facts["node"], facts["state"], facts["was"]) == (NODE, "ns1", "offline", "live")
    assert "No contact" in facts["sentence"]
    assert notice_all(later(60)) == []
    hear(node, now=later(61))
    assert notice_all(later(62)) == []
    hear(node, now=later(68))
    [(_, facts)] = notice_all(later(69))
    assert (facts["state"], facts["was"], facts["since"]) == ("live", "offline", "2026-11-21T12:01:02.000Z")


def test_after_a_restart_of_the_panel_nodes_that_only_were_not_asked_are_not_offline(
    bob: User, webhook: MakeWebhook, active_node: MakeNode
) -> None:
    node = active_node("ns1")
    publish("one.test.", bob)
    prove(node, 1)
    webhook(bob, "https://receiver.test/", NODE)
    assert notice_all(later(3600)) == []
    hear(node, now=later(3604))
    assert notice_all(later(3606)) == []
    assert notice_all(later(3612)) == []


def test_a_node_that_comes_and_one_that_leaves_are_told_of(
    bob: User, webhook: MakeWebhook, active_node: MakeNode, waiting_node: MakeNode
) -> None:
    old = active_node("ns1")
    webhook(bob, "https://receiver.test/", NODE)
    waiting_node("ns2")
    node_lifecycle.drain(node=old, now=NOW, by=None)
    node_lifecycle.retire(node=Node.objects.get(name="ns1"), now=NOW, by=None)
    notice_all(later(1))
    found = {facts["node"]: (facts["state"], facts["was"]) for _, facts in notice_all(later(8))}
    assert found["ns1"][0] == "retired"
    assert found["ns2"] == ("waiting for approval", None)
    assert notice_all(later(60)) == []


def test_an_import_that_ended_is_told_of_once_each_time_it_ends(bob: User, webhook: MakeWebhook) -> None:
    webhook(bob, "https://receiver.test/", IMPORT)
    job = import_ended(bob, now=later(1))
    [(kind, facts)] = notice_all(later(2))
    assert kind == IMPORT
    assert (facts["id"], facts["state"], facts["zone_count"], facts["records"], facts["published"]) == (
        job.pk,
        "done",
        3,
        30,
        2,
    )
    assert notice_all(later(3)) == []
    ImportJob.objects.update(state=State.UNDONE, ended_at=later(4))
    assert [facts["state"] for _, facts in notice_all(later(5))] == ["undone"]


def test_an_import_whose_end_was_committed_late_is_found(bob: User, webhook: MakeWebhook) -> None:
    webhook(bob, "https://receiver.test/", IMPORT)
    import_ended(bob, now=later(10))
    assert len(notice_all(later(60))) == 1
    import_ended(bob, state=State.FAILED, now=later(5))  # ended before, visible after
    assert [facts["state"] for _, facts in notice_all(later(61))] == ["failed"]


def test_a_member_is_told_of_publications_of_their_zones_only(bob: User, member: User, webhook: MakeWebhook) -> None:
    publish("mine.test.", bob)
    give(member, "mine.test.")
    webhook(member, "https://receiver.test/", SAVED)
    publish("other.test.", bob)
    edit.delete_zone(zone=Zone.objects.get(name="mine.test."), acting=Acting(bob, "web", NOW))
    notice_all()
    assert list(Delivery.objects.values_list("event__facts__sequence", flat=True)) == [3]


def test_a_member_is_not_told_of_nodes_and_of_imports_of_others(
    bob: User, member: User, webhook: MakeWebhook, active_node: MakeNode
) -> None:
    publish("mine.test.", bob)
    give(member, "mine.test.", Right.READ, Right.CHANGE)
    made = webhook(member, "https://receiver.test/", IMPORT).webhook
    Webhook.objects.filter(pk=made.pk).update(events=[IMPORT, NODE])
    active_node("ns1")
    webhook(bob, "https://receiver.test/", IMPORT, NODE)
    import_ended(bob, now=later(1))
    import_ended(User.objects.get(pk=member.pk), now=later(2))
    notice_all(later(3))
    notice_all(later(10))
    assert sorted(told()) == [("bob", IMPORT), ("bob", IMPORT), ("bob", NODE), ("mia", IMPORT)]


def test_a_token_s_webhook_is_told_what_the_token_may_see_and_nothing_after_its_end(
    bob: User, webhook: MakeWebhook
) -> None:
    publish("mine.test.", bob)
    zone = Zone.objects.get(name="mine.test.")
    actor = token_actor(bob, Grant(frozenset({Right.READ}), zones=frozenset({zone.pk})))
    assert actor.token is not None
    webhook(actor, "https://receiver.test/", SAVED)
    publish("other.test.", bob)
    notice_all()
    assert told() == []
    edit.delete_zone(zone=zone, acting=Acting(bob, "web", NOW))
    notice_all()
    assert told() == [("bob", SAVED)]
    revoke_token(token=actor.token, by=bob, now=NOW)
    edit.restore_zone(zone=Zone.objects.get(pk=zone.pk), author=bob, channel="web", now=NOW)
    notice_all()
    made = Webhook.objects.get()

    def nothing_is_sent(*_: object) -> Answer:
        raise AssertionError

    Delivery.objects.filter(event__facts__sequence=3).delete()
    assert not deliver_next(webhook_id=made.pk, clock=lambda: NOW, send=nothing_is_sent)
    made.refresh_from_db()
    assert (made.active, made.disabled_reason) == (False, "This token was revoked on 2026-11-21.")


def test_events_that_nobody_wants_are_passed_over(bob: User, webhook: MakeWebhook) -> None:
    made = webhook(bob, "https://receiver.test/", IMPORT).webhook
    publish("one.test.", bob)
    assert notice_all() == []
    Webhook.objects.filter(pk=made.pk).update(events=[EventKind.SAVED])
    publish("two.test.", bob)
    assert [facts["sequence"] for _, facts in notice_all()] == [2]


@pytest.mark.django_db(transaction=True)
def test_of_two_who_look_at_once_one_finds_it(webhook: MakeWebhook, alice: User) -> None:
    webhook(alice)
    for number in range(20):
        publish(f"n{number}.test.", alice)

    def look(_: int) -> int:
        try:
            return collect_events(now=NOW)
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        assert sum(pool.map(look, range(4))) == 20
    assert Delivery.objects.count() == 20
    assert LogHead.objects.get().sequence == Watch.objects.get().saved


def test_a_request_is_told_once_to_who_sees_one_of_its_zones_and_so_is_what_became_of_it(
    alice: User, bob: User, member: User, webhook: MakeWebhook
) -> None:
    kinds = [EventKind.OPENED, EventKind.ENDED]
    for name in ("mine.test.", "other.test."):
        publish(name, bob)
    give(member, "mine.test.")
    for person in (alice, member):
        webhook(person, URL, *kinds)
    webhook(alice, URL, *kinds, tags=["gold"])
    other = Zone.objects.get(name="other.test.")
    rrset = rr("www 300 A 192.0.2.1", origin=other.name)
    replace_rrset(author=bob, zone=other, rrset=rrset, now=NOW)
    request = publish_requests.ask(author=bob, name="Move", now=NOW, terms=publish_requests.Terms("new rack"))
    [(kind, facts)] = notice_all()
    assert (kind, facts["name"], facts["asked_by"]["user"]) == (EventKind.OPENED, "Move", "bob")
    assert told() == [("alice", EventKind.OPENED)]
    publish_requests.withdraw(request=request, by=bob, now=later(5))
    [(kind, facts)] = notice_all(later(5))
    assert (kind, facts["state"], facts["ended_by"]["user"]) == (EventKind.ENDED, "withdrawn", "bob")
    assert notice_all(later(6)) == []
    actor = actor_of(alice)
    assert actor is not None
    found = contents(Event.objects.get(kind=EventKind.OPENED), Listener(actor))
    assert found is not None
    assert (found["zones"], found["zone_count"], "zone_ids" in found) == (["other.test."], 1, False)
    line = line_of(EventKind.OPENED, found).text
    assert line == "bob requested approval for “Move” in other.test.: new rack"
