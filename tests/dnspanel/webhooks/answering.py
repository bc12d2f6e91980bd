"""A real HTTP server that is asked before publications; it signs as the text of Standard Webhooks says."""

import hmac
import json
import time
from base64 import b64decode, b64encode
from collections import deque
from collections.abc import Callable
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

from django.db import connection

from tests.dnspanel.webhooks.receiver import Received, Receiver

Reply = tuple[int, dict[str, str], bytes, float]  # as `Receiver.answers` has them
Meanwhile = Callable[[], object]


def nothing() -> None:
    """Do nothing while a hook thinks, unless a test has something."""


class Answering(Receiver):
    """A receiver with scripted answers, in turn; a question without one gets status 418."""

    def __init__(self) -> None:
        super().__init__()
        self.secret = ""
        self.answers = _Answers(self)

    @property
    def now(self) -> datetime:
        return datetime.now(UTC)

    @property
    def questions(self) -> list[dict[str, Any]]:
        return [json.loads(each.body) for each in self.received]

    def allow(self, *, meanwhile: Meanwhile = nothing, **more: Any) -> None:
        """Answer the next question with a yes, after `meanwhile`."""
        self.answers.append_signed({"allow": True, **more}, meanwhile=meanwhile)

    def refuse(self, reason: str, **more: Any) -> None:
        """Answer the next question with a no."""
        self.answers.append_signed({"allow": False, "reason": reason, **more})


class _Answers(deque[Any]):
    """Functions from the question to the answer, which is made once the question is there."""

    def __init__(self, server: Answering) -> None:
        super().__init__()
        self._server = server

    def __bool__(self) -> bool:
        return True

    def append_signed(self, answer: dict[str, Any], *, meanwhile: Meanwhile = nothing, **changed: Any) -> None:
        """Answer so, signed for the question; `changed` says what of the signature is another than it should be."""

        def reply(question: Received, secret: str) -> Reply:
            try:
                meanwhile()
            finally:
                connection.close()  # that of this thread
            body = json.dumps({"digest": json.loads(question.body)["digest"], **answer}).encode()
            return signed_reply(question, body, **{"secret": secret, **changed})

        self.append(reply)

    def popleft(self) -> Reply:
        question, secret = self._server.received[-1], self._server.secret
        if not len(self):
            return 418, {}, b"", 0
        reply = super().popleft()
        return reply(question, secret) if callable(reply) else reply


def signed_reply(
    question: Received, body: bytes, secret: str, *, status: int = 200, id: str = "", age: float = 0, **_: Any
) -> Reply:
    """Return this body with the headers of Standard Webhooks, by default such as they should be."""
    id, moment = id or question.headers["webhook-id"], str(int(time.time() - age))
    signed = b".".join([id.encode(), moment.encode(), body])
    signature = b64encode(hmac.new(b64decode(secret.split("_", 1)[1]), signed, sha256).digest()).decode()
    headers = {"webhook-id": id, "webhook-timestamp": moment, "webhook-signature": f"v1,{signature}"}
    return status, headers, body, 0
