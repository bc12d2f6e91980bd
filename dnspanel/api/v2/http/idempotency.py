"""Run a request with an `Idempotency-Key` only once, and return the first response to every retry. Verbs.

1. Claim the key: commit a row without a response before anything else.
2. Do the write. The publication has an id that is derived from the row, and the log accepts each id only once.
3. Store the response in the row.

A process that dies between these steps leaves a row without a response. After `LEASE`, a retry takes the row over. If
the first request had already published, the retry returns that publication. A key can be used again after a day.
"""

import hmac
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID, uuid5

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from dnspanel.accounts.actors.actors import Actor
from dnspanel.api.models import RememberedAnswer
from dnspanel.api.v2.http.problems import Problem, RequestFault
from dnspanel.zones.models import Publication
from dnspanel.zones.publishing.failed import raise_if_taken_back

REMEMBERED_FOR = timedelta(hours=24)
# No request takes longer. After this time, the process that handles the request counts as dead.
LEASE = timedelta(seconds=90)
LONGEST_KEY = 255
NAMESPACE = UUID("5f3c7a52-6d0e-4b1c-9c39-2f0d6e4b8a11")
_KEPT_HEADERS = ("Content-Type", "ETag", "Location", "Link", "Preference-Applied")


@dataclass(frozen=True, slots=True)
class Claim:
    """The right to carry out the request with this key. Only one process can have it.

    `taken_over` is True if an earlier attempt didn't store a response, for example because its process died.
    """

    id: int
    form_id: UUID
    taken_over: bool


class Remembered(Exception):
    """The request was already done. `response` is its first response."""

    def __init__(self, response: HttpResponse) -> None:
        self.response = response
        super().__init__("answered before")


def claim(*, request: HttpRequest, actor: Actor, key: str, now: datetime) -> Claim:
    """Claim the key for this request. Raise Remembered if a response is already stored.

    Raise TakenBack if that response was about a publication that has been reverted since then. Raise Problem if the key
    is invalid or belongs to another request, or if the same request is still in progress.
    """
    if not (0 < len(key) <= LONGEST_KEY and key.isascii() and key.isprintable()):
        fault = RequestFault("invalid", f"Use 1 to {LONGEST_KEY} printable characters.", header="Idempotency-Key")
        raise Problem("bad-header", "The Idempotency-Key is invalid.", [fault])
    digest = _digest(request)
    row, is_new = RememberedAnswer.objects.get_or_create(
        token=actor.token, key=key, defaults={"request_sha256": digest, "at": now}
    )
    if not is_new and row.at <= now - REMEMBERED_FOR:
        RememberedAnswer.objects.filter(pk=row.pk, at=row.at).delete()
        return claim(request=request, actor=actor, key=key, now=now)
    if not is_new:
        _refuse_or_recall(row, digest)
        # Only one retry takes over. The update makes the request appear in progress to all other retries.
        stale = RememberedAnswer.objects.filter(pk=row.pk, status=None, at=row.at, at__lte=now - LEASE)
        if not stale.update(at=now):
            raise Problem("under-way", "The first request with this key still runs.", headers={"Retry-After": "1"})
    return Claim(row.pk, form_id_of(row.pk), taken_over=not is_new)


def form_id_of(claim_id: int) -> UUID:
    """Return the publication id for a claim. The log accepts each id only once.

    If a key is used again after a day, the id is different.
    """
    return uuid5(NAMESPACE, str(claim_id))


def remember(*, claim: Claim, response: HttpResponse, now: datetime) -> None:
    """Store this response for retries. After a server error or a streamed response, a retry runs the request again."""
    rows = RememberedAnswer.objects.filter(pk=claim.id)
    if response.status_code >= 500 or response.streaming:
        rows.update(at=now - LEASE)
        return
    kept = {name: response.headers[name] for name in _KEPT_HEADERS if name in response.headers}
    rows.update(status=response.status_code, headers=kept, body=response.content, at=now)


def forget_answers(*, now: datetime) -> int:
    """Delete responses older than a day. Their keys can then be used again. Return the number of deleted responses."""
    forgotten, _ = RememberedAnswer.objects.filter(at__lte=now - REMEMBERED_FOR).delete()
    return forgotten


def _refuse_or_recall(row: RememberedAnswer, digest: bytes) -> None:
    if bytes(row.request_sha256) != digest:
        fault = RequestFault("key-reused", "This key was already sent with another request.", header="Idempotency-Key")
        raise Problem("key-reused", "This Idempotency-Key belongs to another request. Use a new key.", [fault])
    if row.status is not None:
        if row.status < 300 and (publication := Publication.objects.filter(form_id=form_id_of(row.pk)).first()):
            raise_if_taken_back(publication)
        response = HttpResponse(bytes(row.body), status=row.status, headers=row.headers)
        response["Idempotency-Replayed"] = "true"
        if "Content-Type" not in row.headers:
            del response["Content-Type"]
        raise Remembered(response)


def _digest(request: HttpRequest) -> bytes:
    """Return a digest of a request's method, path, query, conditions and body. Only the size of uploads is included.

    The digest is keyed with one of the panel's keys, so that passwords in bodies can't be guessed from stored digests.
    """
    named = ("HTTP_IF_MATCH", "HTTP_IF_NONE_MATCH", "CONTENT_LENGTH")
    head = "\0".join((request.method or "", request.get_full_path(), *(request.META.get(name, "") for name in named)))
    body = request.body if "json" in (request.content_type or "") else b""
    message = head.encode(errors="backslashreplace") + b"\0" + body
    return hmac.digest(settings.SECRET_KEY.encode(), message, "sha256")
