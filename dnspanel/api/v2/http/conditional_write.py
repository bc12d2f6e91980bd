"""Conditional writes of resources without revisions. Nothing changes between the check of the tag and the write.

Rows of people, teams, tokens and hooks are small and seldom written. Therefore a resource's tag is a digest of the
response, and writers of the same resource wait for each other. The lock belongs to the database session, not to a
transaction, because some verbs must open the outermost transaction.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from zlib import crc32

from django.http import HttpResponse
from rest_framework.request import Request

from dnspanel.advisory_locks import Lock, hold_lock
from dnspanel.api.v2.http.answers import answer
from dnspanel.api.v2.http.etag import condition_in, tag_of
from dnspanel.api.v2.http.problems import Problem


@contextmanager
def conditional_write(request: Request, resource: str, as_it_is: Callable[[], Any]) -> Iterator[None]:
    """Lock the resource against other writes through API v2 and run the block if If-Match holds.

    Otherwise raise Problem (412) with the current resource and the sent body. `base` is null, because the version
    behind a digest isn't stored.
    """
    condition = condition_in(request)
    with hold_lock(Lock.RESOURCE, crc32(resource.encode()), wait=True):
        if condition.wants_match or condition.none_match_any or condition.none_match:
            theirs = as_it_is()
            tag = tag_of(theirs)
            if not condition.holds(tag):
                details = {"base": None, "theirs": theirs, "mine": request.data if request.data else None}
                detail = "The resource has changed since it was read."
                raise Problem("precondition-failed", detail, headers={"ETag": tag}, extensions=details)
        yield


def answer_with_tag(value: Any, status: int = 200, **headers: str) -> HttpResponse:
    """Return a response with the tag for later conditional writes. Keyword arguments are headers (`Location`)."""
    return answer(value, status, headers={"ETag": tag_of(value), **headers})
