"""Tests of publish hook answers over HTTP: the valid ones, and those that are treated as silence."""

import json
import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from dnspanel.accounts.secrets.vault import encrypt_secret
from dnspanel.webhooks import post
from dnspanel.webhooks.ask_hooks import ask_hooks
from dnspanel.webhooks.sign_events import new_secret
from dnspanel.zones.governance.hook_questions import HookAnswer, Question
from dnspanel.zones.models import PublishHook
from tests.dnspanel.webhooks.answering import Answering, signed_reply
from tests.dnspanel.webhooks.receiver import Received, is_signed

pytestmark = pytest.mark.django_db  # the database tells which key encrypts

BODY = json.dumps({"event": "publication.ask", "digest": "d1"}).encode()


def question(answering: Answering, seconds: int = 5, url: str = "") -> Question:
    answering.secret = answering.secret or new_secret()
    secret = encrypt_secret(answering.secret.encode())
    return Question(PublishHook(url=url or answering.url, secret=secret, seconds=seconds), "d1", BODY, {})


def ask(answering: Answering, seconds: int = 5, url: str = "") -> HookAnswer:
    (answer,) = ask_hooks(questions=[question(answering, seconds, url)])
    return answer


def test_a_signed_yes_and_a_signed_no_count(answering: Answering) -> None:
    answering.allow(reason="All\nright\x07", ticket="OPS-1")
    answering.refuse("x" * 1000)
    assert ask(answering) == HookAnswer(True, "All right", "OPS-1")
    assert ask(answering) == HookAnswer(False, "x" * 300, "")
    first, second = (each.headers["webhook-id"] for each in answering.received)
    assert first != second


FORGED: dict[str, Callable[[Answering], dict[str, Any]]] = {
    "by another secret": lambda answering: {"secret": new_secret()},
    "for another question": lambda answering: {"id": "ask_of_before"},
    "long ago": lambda answering: {"age": 301},
    "by a clock that is ahead": lambda answering: {"age": -310},
}


@pytest.mark.parametrize("how", FORGED)
def test_an_answer_that_was_signed_otherwise_is_silence(how: str, answering: Answering) -> None:
    answering.answers.append_signed({"allow": True}, **FORGED[how](answering))
    answer = ask(answering)
    assert (answer.allow, "isn’t signed" in answer.reason) == (None, True)


def test_an_old_answer_and_the_question_itself_are_no_answer(answering: Answering) -> None:
    answering.allow()
    ask(answering)
    old: list[Any] = []

    def keep(query: Received, secret: str) -> Any:
        old.append(signed_reply(query, json.dumps({"allow": True, "digest": "d1"}).encode(), secret))
        return old[0]

    answering.answers.append(keep)
    assert ask(answering).allow is True
    answering.answers.append(old[0])
    assert "isn’t signed" in ask(answering).reason
    answering.answers.append(lambda query, _: (200, query.headers, query.body, 0))
    assert "doesn’t contain `allow`" in ask(answering).reason


@pytest.mark.parametrize(
    ("body", "told"),
    [
        (b"yes", "isn’t valid JSON"),
        (b"[" * 3000, "isn’t valid JSON"),
        (b'{"allow": 1, "digest": "d1"}', "doesn’t contain `allow`"),
        (b"[true]", "doesn’t contain `allow`"),
        (b'{"allow": true, "digest": "d2"}', "for another request"),
        (b'{"allow": true}', "for another request"),
        (b'{"allow": true, "digest": "d1", "reason": 1}', "isn’t text"),
        (b'{"allow": true, "digest": "d1", "x": "' + b"x" * 4096 + b'"}', "isn’t signed"),
    ],
    ids=["text", "deep", "a number", "a list", "another digest", "no digest", "no text", "too long"],
)
def test_an_answer_of_another_form_is_silence(body: bytes, told: str, answering: Answering) -> None:
    answering.answers.append(lambda query, secret: signed_reply(query, body, secret))
    answer = ask(answering)
    assert answer.allow is None
    assert told in answer.reason


def test_a_redirect_is_not_followed_and_another_status_is_silence(answering: Answering) -> None:
    answering.answer(307, Location=answering.url)
    assert ask(answering) == HookAnswer(None, "the response has status 307.")
    answering.answers.append(
        lambda query, secret: signed_reply(query, b'{"allow": true, "digest": "d1"}', secret, status=201)
    )
    assert ask(answering) == HookAnswer(None, "the response has status 201.")
    assert len(answering.received) == 2


def test_nobody_there_a_slow_answer_and_a_private_address_are_silence(answering: Answering, settings: Any) -> None:
    nobody = ask(answering, url="http://receiver.test:9999/")
    assert "Couldn’t connect to receiver.test" in nobody.fault
    assert "receiver.test" not in nobody.reason, "who publishes reads this, and is not told where the hook is"
    answering.answer(200, body=b"x" * 100, seconds_a_byte=0.2)
    assert ask(answering, seconds=1).allow is None
    settings.OUTBOUND_NETWORKS = []
    assert "a public address" in ask(answering).fault


def test_a_name_server_that_never_answers_takes_no_longer_than_the_hook_may(
    answering: Answering, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone_on = threading.Event()

    def resolve(*_: object, **__: object) -> list[str]:
        gone_on.wait(60)
        return []

    monkeypatch.setattr(post, "checked_addresses", resolve)
    try:
        assert ask(answering, seconds=1) == HookAnswer(None, "no response within 1 s.")
    finally:
        gone_on.set()


def test_for_a_day_the_secret_of_before_a_rotation_counts_too(answering: Answering) -> None:
    old, new = new_secret(), new_secret()
    rotated = question(answering)
    rotated.hook.secret, rotated.hook.old_secret = (encrypt_secret(each.encode()) for each in (new, old))
    for until, secrets, allowed in ((1, (new, old), [True, True]), (-1, (new, old), [True, None])):
        rotated.hook.old_secret_until = timezone.now() + timedelta(minutes=until)
        found = []
        for each in secrets:
            answering.secret = each
            answering.allow()
            found.append(ask_hooks(questions=[rotated])[0].allow)
            assert is_signed(answering.received[-1], new, at=answering.now)
        assert found == allowed
        assert is_signed(answering.received[-1], old, at=answering.now) is (until > 0)


def test_several_hooks_are_asked_at_once_and_answered_in_their_order(answering: Answering) -> None:
    with Answering() as other:
        other.secret = new_secret()
        answering.refuse("One")
        other.refuse("Two")
        answers = ask_hooks(questions=[question(answering), question(other)])
    assert [each.reason for each in answers] == ["One", "Two"]
