"""Conditional writes of what has no revision: nothing changes between the look at its tag and the write.

Rows of people, teams, tokens and hooks are small and seldom written, so
their tag is a digest of what is answered, and writers of one of them wait
for each other. The lock is the session's, because some verbs insist on being
the outermost transaction.
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
    """Run the block only if the resource is as the request's If-Match says, and no other write through API v2 is at it.

    Raise Problem (412) with the present resource and what was sent. `base` is not known: the source of a digest is
    not kept.
    """
    condition = condition_in(request)
    with hold_lock(Lock.RESOURCE, crc32(resource.encode()), wait=True):
        if condition.wants_match or condition.none_match_any or condition.none_match:
            theirs = as_it_is()
            tag = tag_of(theirs)
            if not condition.holds(tag):
                details = {"base": None, "theirs": theirs, "mine": request.data if request.data else None}
                detail = "It was changed since it was read."
                raise Problem("precondition-failed", detail, headers={"ETag": tag}, extensions=details)
        yield


def answer_with_tag(value: Any, status: int = 200, **headers: str) -> HttpResponse:
    """Return an answer with the tag that a conditional write sends back; keywords are headers (`Location`)."""
    return answer(value, status, headers={"ETag": tag_of(value), **headers})
