"""Lock resources without revisions, and check If-Match under the lock, for conditional writes.

Rows of users, teams, tokens and hooks are small and rarely written. A resource's tag is therefore a digest of the
response, and writers of the same resource wait for each other. The lock belongs to the database session instead of a
transaction, because some functions must open the outermost transaction themselves.
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
    """Lock the resource against other writes through API v2. Raise Problem (412) unless the request's condition holds.

    The problem contains the current resource and the sent body. `base` is null, because the version behind a digest
    isn't stored.
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
    """Return a response with the tag for later conditional writes. Keyword arguments are headers such as `Location`."""
    return answer(value, status, headers={"ETag": tag_of(value), **headers})
