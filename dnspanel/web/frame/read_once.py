"""Read data that several parts of a page need, once per request, so that all parts agree.

Call these functions only after the request has made all its changes.
"""

from collections.abc import Callable
from typing import TypeVar

from django.http import HttpRequest
from django.utils import timezone

from dnspanel.accounts.models import User
from dnspanel.fleet.reads.queries import NodeStatus, watched_statuses
from dnspanel.zones.lists import queries

T = TypeVar("T")


def statuses_of(request: HttpRequest) -> tuple[NodeStatus, ...]:
    """Return the statuses of all nodes, including the canary."""
    return _once(request, "statuses", lambda: watched_statuses(now=timezone.now()))


def draft_counts_of(request: HttpRequest) -> tuple[queries.DraftCounts, ...]:
    """Return the number of changes in the signed-in user's draft for each zone."""
    author = request.user
    assert isinstance(author, User)
    return _once(request, f"draft-{author.pk}", lambda: queries.draft_summary(author=author))


def _once(request: HttpRequest, name: str, read: Callable[[], T]) -> T:
    known: dict[str, T] = request.__dict__.setdefault("_read_once", {})
    if name not in known:
        known[name] = read()
    return known[name]
