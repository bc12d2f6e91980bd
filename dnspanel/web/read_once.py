"""What several parts of one page read: once for each request, so that they say the same, and nothing of it outlives it.

Ask only when the request has changed all that it changes.
"""

from collections.abc import Callable
from typing import TypeVar

from django.http import HttpRequest
from django.utils import timezone

from dnspanel.accounts.models import User
from dnspanel.fleet.reads.queries import NodeStatus, node_statuses
from dnspanel.zones import queries
from dnspanel.zones.queries import DraftCounts

T = TypeVar("T")


def statuses_of(request: HttpRequest) -> tuple[NodeStatus, ...]:
    """The status of every node, as of when the page first needed one."""
    return _once(request, "statuses", lambda: node_statuses(now=timezone.now()))


def draft_counts_of(request: HttpRequest) -> tuple[DraftCounts, ...]:
    """What the draft of who is signed in holds, per zone."""
    author = request.user
    assert isinstance(author, User)
    return _once(request, f"draft-{author.pk}", lambda: queries.draft_summary(author=author))


def _once(request: HttpRequest, name: str, read: Callable[[], T]) -> T:
    known: dict[str, T] = request.__dict__.setdefault("_read_once", {})
    if name not in known:
        known[name] = read()
    return known[name]
