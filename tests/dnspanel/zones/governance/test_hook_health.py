"""The health of publish hooks, from a real server's answers to publications, tests and example calls."""

from datetime import timedelta
from pathlib import Path

import pytest

from dnspanel.accounts.models import AuditEntry, User
from dnspanel.webhooks import place_publish_hooks, post
from dnspanel.webhooks.place_publish_hooks import HookTerms
from dnspanel.zones.errors import HookRefused
from dnspanel.zones.governance.hook_health import KEPT, Reply, note_replies, summary_of, troubled_hooks
from dnspanel.zones.governance.hook_questions import HookAnswer, example_question
from dnspanel.zones.governance.publish_rules import Scope
from dnspanel.zones.models import HookReply, PublishHook, WhenSilent, Zone
from tests.dnspanel.webhooks.answering import Answering
from tests.dnspanel.webhooks.conftest import answering as answering
from tests.dnspanel.webhooks.conftest import at_home as at_home
from tests.dnspanel.webhooks.receiver import Receiver, is_signed, make_certificate
from tests.dnspanel.webhooks.test_place_publish_hooks import Place, publish
from tests.dnspanel.webhooks.test_place_publish_hooks import place as place
from tests.dnspanel.zones.conftest import MakeZone
from tests.people import NOW

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def zone(make_zone: MakeZone) -> Zone:
    return make_zone("www 60 A 192.0.2.1")


def examples_at(minutes: float) -> int:
    return place_publish_hooks.ask_quiet_hooks(clock=lambda: NOW + timedelta(minutes=minutes))


def test_each_answer_to_a_publication_is_listed_with_how_long_it_took(
    zone: Zone, alice: User, place: Place, answering: Answering
) -> None:
    hook = place().hook
    answering.allow(ticket="OPS-7")
    publish(zone, alice)
    answering.refuse("No.")
    with pytest.raises(HookRefused):
        publish(zone, alice, "192.0.2.10")
    answering.answer(500)
    with pytest.raises(HookRefused):
        publish(zone, alice, "192.0.2.11")
    replies = place_publish_hooks.replies_of(hook)
    assert [(each.word, each.reason, each.ticket, each.zones, each.is_test) for each in replies] == [
        ("silent", "the response has status 500.", "", 1, False),
        ("no", "No.", "", 1, False),
        ("yes", "", "OPS-7", 1, False),
    ]
    assert all(each.ms > 0 for each in replies)
    summary = summary_of(replies)
    assert (summary.yes, summary.no, summary.silent, summary.total) == (1, 1, 1, 3)
    assert summary.median_ms == pytest.approx((replies[1].ms + replies[2].ms) / 2)
    assert summary_of(replies[:1]).median_ms is None
    hook.refresh_from_db()
    assert (hook.failures, hook.failing_since, hook.error) == (1, NOW, "the response has status 500.")
    answering.allow()
    publish(zone, alice, "192.0.2.12")
    hook.refresh_from_db()
    assert (hook.failures, hook.failing_since, hook.error) == (0, None, "")
    assert hook.ms is not None


def test_a_test_asks_a_marked_example_and_says_what_came_of_it(alice: User, place: Place, answering: Answering) -> None:
    made = place(Scope(tag="shop"))
    answering.refuse("An example.")
    told = place_publish_hooks.try_hook(hook_id=made.hook.pk, author=alice, clock=lambda: NOW)
    assert (told.allow, told.reason) == (False, "An example.")
    assert told.ms > 0
    (question,) = answering.questions
    assert is_signed(answering.received[0], made.secret, at=answering.now)
    assert (question["test"], question["actor"]["user"], question["zones"][0]["zone"]) == (
        True,
        "alice",
        "example.com.",
    )
    (reply,) = place_publish_hooks.replies_of(made.hook)
    assert (reply.word, reply.is_test) == ("no", True)
    entry = AuditEntry.objects.get(action="hook.test")
    assert (entry.user, entry.details["answer"]) == (alice, "no")


def test_a_test_says_why_tls_fails(
    alice: User, place: Place, answering: Answering, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    post._tls.cache_clear()
    with Receiver(make_certificate(tmp_path / "unknown.pem")) as receiver:
        hook = place(url=receiver.url).hook
        told = place_publish_hooks.try_hook(hook_id=hook.pk, author=alice, clock=lambda: NOW)
    assert told.allow is None
    assert "certificate" in told.fault.lower()
    assert place_publish_hooks.replies_of(hook)[0].reason == told.fault


def test_who_is_silent_is_asked_again_and_is_a_trouble_until_it_answers(place: Place, answering: Answering) -> None:
    passing = place(when_silent=WhenSilent.PASS).hook
    must = place().hook
    PublishHook.objects.filter(pk=passing.pk).update(questioned_at=NOW, url="http://receiver.test:9999/")
    answering.answer(500)
    assert examples_at(0) == 1, "the other one was asked just now"
    assert troubled_hooks() == []
    assert examples_at(0.5) == 0
    answering.answer(500)
    assert examples_at(1) == 1
    assert troubled_hooks() == [must]
    answering.answer(500)
    assert examples_at(5) == 2, "five minutes on, both are"
    examples_at(6), examples_at(7)
    assert troubled_hooks() == [must, passing]
    answering.allow()
    examples_at(9)
    assert troubled_hooks() == [passing]
    assert not HookReply.objects.exists(), "what the panel asks by itself is not listed"


def test_the_newest_replies_are_kept_and_those_of_another_version_count_for_nothing(alice: User, place: Place) -> None:
    hook = place().hook
    question = example_question(hook, alice)
    for number in range(KEPT + 3):
        note_replies([Reply(question, HookAnswer(True, f"{number}"))], now=NOW)
    replies = place_publish_hooks.replies_of(hook)
    assert [replies[0].reason, replies[-1].reason, len(replies)] == [f"{KEPT + 2}", "3", KEPT]
    terms = HookTerms(hook.url, 3)
    place_publish_hooks.change_hook(hook=hook, scope=Scope(), terms=terms, reason="Names", author=alice, now=NOW)
    note_replies([Reply(question, HookAnswer(None, "late"))] * 2, now=NOW)
    assert (PublishHook.objects.get().failures, HookReply.objects.filter(reason="late").count()) == (0, 0)
    place_publish_hooks.lift_hook(hook_id=hook.pk, author=alice, now=NOW)
    note_replies([Reply(question, HookAnswer(None, "later"))], now=NOW)
    assert not HookReply.objects.exists()
