"""A real HTTP server for publish hooks. It signs its answers by Standard Webhooks."""

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

Reply = tuple[int, dict[str, str], bytes, float]  # like the entries of `Receiver.answers`
Meanwhile = Callable[[], object]


def nothing() -> None:
    """Do nothing. This is the default action before an answer."""


class Answering(Receiver):
    """A publish hook with scripted answers, in order. Without an answer, it returns status 418."""

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
        """Allow the next publication, after calling `meanwhile`."""
        self.answers.append_signed({"allow": True, **more}, meanwhile=meanwhile)

    def refuse(self, reason: str, **more: Any) -> None:
        """Refuse the next publication with this reason."""
        self.answers.append_signed({"allow": False, "reason": reason, **more})


class _Answers(deque[Any]):
    """A queue of functions that compute the answer from the question when it arrives."""

    def __init__(self, server: Answering) -> None:
        super().__init__()
        self._server = server

    def __bool__(self) -> bool:
        return True

    def append_signed(self, answer: dict[str, Any], *, meanwhile: Meanwhile = nothing, **changed: Any) -> None:
        """Queue an answer that is signed for the next question. `changed` overrides parts of the signature."""

        def reply(question: Received, secret: str) -> Reply:
            try:
                meanwhile()
            finally:
                connection.close()  # the connection of this thread
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
    """Return this body with the headers of Standard Webhooks. Arguments replace the correct values."""
    id, moment = id or question.headers["webhook-id"], str(int(time.time() - age))
    signed = b".".join([id.encode(), moment.encode(), body])
    signature = b64encode(hmac.new(b64decode(secret.split("_", 1)[1]), signed, sha256).digest()).decode()
    headers = {"webhook-id": id, "webhook-timestamp": moment, "webhook-signature": f"v1,{signature}"}
    return status, headers, body, 0
