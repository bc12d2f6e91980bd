"""Query publish hooks over HTTP: all hooks of a publication in parallel, each with its own time limit.

The query is a POST request, signed like webhooks (`sign_events`). For a day after a rotation, it is also signed with
the old secret. A valid answer has status 200 and a JSON object of less than 4,096 bytes. The answer is signed in the
same way with one of the secrets, under the query's unique `webhook-id`:

    {"allow": true, "digest": "<that of the query>", "reason": "…", "ticket": "…"}

All other responses count as no answer: a timeout, a redirect, another status, another format, another digest, an
invalid signature.
"""

import json
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from uuid import uuid4

from django.utils import timezone

from dnspanel.texts import gettext
from dnspanel.webhooks.deliver_events import secrets_of
from dnspanel.webhooks.errors import AddressRefused, NoAnswer
from dnspanel.webhooks.post import MOST_ANSWER_BYTES, Answer, post
from dnspanel.webhooks.sign_events import is_signed, signed_headers
from dnspanel.zones.governance.hook_questions import HookAnswer, Question

LONGEST_REASON = 300
LONGEST_TICKET = 100


def ask_hooks(*, questions: Sequence[Question], **_: Any) -> list[HookAnswer]:
    """Query all hooks in parallel, each with its own time limit. Return the answers in the order of the questions."""
    now = timezone.now()
    answers = [_nothing_within(each.hook.seconds) for each in questions]
    secrets = [secrets_of(each.hook, now=now) for each in questions]
    over = threading.Event()

    def ask(number: int) -> None:
        started = time.monotonic()
        answer = _answer_of(questions[number], secrets[number])
        if not over.is_set():
            answers[number] = replace(answer, ms=(time.monotonic() - started) * 1000)

    # Threads, because a resolver has no time limit. None of them uses the database.
    threads = [threading.Thread(target=ask, args=[number], daemon=True) for number in range(len(questions))]
    begun = time.monotonic()
    for thread in threads:
        thread.start()
    for thread, question in zip(threads, questions, strict=True):
        thread.join(max(0.0, begun + question.hook.seconds - time.monotonic()))
    over.set()
    return list(answers)


def _nothing_within(seconds: int) -> HookAnswer:
    return HookAnswer(None, gettext("no response within {seconds} s.").format(seconds=seconds), ms=seconds * 1000.0)


def _answer_of(question: Question, secrets: Sequence[str]) -> HookAnswer:
    id, seconds = f"ask_{uuid4().hex}", question.hook.seconds
    headers = signed_headers(message_id=id, timestamp=int(time.time()), body=question.body, secrets=secrets)
    try:
        answer = post(
            question.hook.url, {"Content-Type": "application/json", **headers}, question.body, seconds=seconds
        )
    except (AddressRefused, NoAnswer) as exc:
        return HookAnswer(None, gettext("no HTTP response."), fault=str(exc))
    if answer.status != 200:
        return HookAnswer(None, gettext("the response has status {status}.").format(status=answer.status))
    now = time.time()
    if not any(
        is_signed(message_id=id, now=now, headers=answer.headers, body=answer.body, secret=secret) for secret in secrets
    ):
        return HookAnswer(None, gettext("the response isn’t signed with the secret for this request and time."))
    return _read(answer, question.digest)


def _read(answer: Answer, digest: str) -> HookAnswer:
    """Parse the answer. If it is invalid, return an answer that counts as no answer, with the reason."""
    if len(answer.body) >= MOST_ANSWER_BYTES:
        return HookAnswer(
            None,
            gettext("the response is longer than {most_answer_bytes:,} bytes.").format(
                most_answer_bytes=MOST_ANSWER_BYTES
            ),
        )
    try:
        given = json.loads(answer.body)
    except (ValueError, RecursionError):
        return HookAnswer(None, gettext("the response isn’t valid JSON."))
    if not isinstance(given, dict) or not isinstance(given.get("allow"), bool):
        return HookAnswer(None, gettext("the response doesn’t contain `allow`: true or false."))
    reason, ticket = given.get("reason", ""), given.get("ticket", "")
    if not isinstance(reason, str) or not isinstance(ticket, str):
        return HookAnswer(None, gettext("`reason` or `ticket` in the response isn’t text."))
    if given.get("digest") != digest:
        return HookAnswer(None, gettext("the response is for another request: `digest` doesn’t match."))
    return HookAnswer(given["allow"], _line(reason, LONGEST_REASON), _line(ticket, LONGEST_TICKET))


def _line(text: str, most: int) -> str:
    """Return the text as one line of at most `most` printable characters."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())[:most]
