"""What several parts of one page read: once for each request, so that they say the same, and nothing of it outlives it.

Ask only when the request has changed all that it changes.
"""

from collections.abc import Callable
from typing import TypeVar

from django.http import HttpRequest
from django.utils import timezone

from dnspanel.accounts.models import User
from dnspanel.fleet.reads.queries import NodeStatus, watched_statuses, without_ring0
from dnspanel.zones.lists import queries
from dnspanel.zones.lists.queries import DraftCounts

T = TypeVar("T")


def statuses_of(request: HttpRequest) -> tuple[NodeStatus, ...]:
    """Return the status of every node that clients ask, as of when the page first needed one."""
    return without_ring0(watched_statuses_of(request))


def watched_statuses_of(request: HttpRequest) -> tuple[NodeStatus, ...]:
    """Return the same with ring 0."""
    return _once(request, "statuses", lambda: watched_statuses(now=timezone.now()))


def draft_counts_of(request: HttpRequest) -> tuple[DraftCounts, ...]:
    """Return what the draft of the signed-in person holds, per zone."""
    author = request.user
    assert isinstance(author, User)
    return _once(request, f"draft-{author.pk}", lambda: queries.draft_summary(author=author))


def _once(request: HttpRequest, name: str, read: Callable[[], T]) -> T:
    known: dict[str, T] = request.__dict__.setdefault("_read_once", {})
    if name not in known:
        known[name] = read()
    return known[name]
