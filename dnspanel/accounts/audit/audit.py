"""Write actions to the audit log. Publications aren't written to it, because they are already stored. Verbs."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from dnspanel.accounts.actors.actors import Author, token_of, user_of
from dnspanel.accounts.models import AuditEntry
from dnspanel.texts import in_english
from replication.log_lines import of_request


@dataclass(frozen=True, slots=True)
class Origin:
    """The origin of a request: the client's address, the request id that appears in logs, and the browser session.

    `session_of` returns the session's public id, or "" without a session. The id is read when an action is recorded,
    because it changes at the sign-in.
    """

    address: str | None = None
    request_id: str = ""
    session_of: Callable[[], str] = str


_NOWHERE = Origin()
_origin: ContextVar[Origin] = ContextVar("origin", default=_NOWHERE)


def origin() -> Origin:
    """Return the origin of the current request. Outside of requests, return an empty origin."""
    return _origin.get()


def origin_of(job: Any) -> Origin:
    """Return the origin that a background job's row stores."""
    return Origin(job.address, job.request_id, lambda: job.session)


@contextmanager
def coming_from(where: Origin) -> Iterator[None]:
    """Make `origin()` return this origin within the block. Log lines of the block have its request id."""
    reset = _origin.set(where)
    try:
        with of_request(where.request_id):
            yield
    finally:
        _origin.reset(reset)


def record(*, action: str, by: Author, now: datetime, target: str = "", **details: Any) -> None:
    """Write an action to the audit log, with the current request's origin. `details` must not contain secrets.

    The caller must run this in the action's transaction, so that the action and the entry are stored together.
    """
    record_each(action=action, by=by, now=now, targets={target: details})


def record_each(*, action: str, by: Author, now: datetime, targets: Mapping[str, Mapping[str, Any]]) -> None:
    """Write an audit entry for each target of an action, in one query. `targets` maps each target to its details."""
    record_all(action=action, by=by, now=now, entries=targets.items())


def record_all(*, action: str, by: Author, now: datetime, entries: Iterable[tuple[str, Mapping[str, Any]]]) -> None:
    """Write an audit entry for each pair of target and details, in one query. A target can occur more than once."""
    where = _origin.get()
    AuditEntry.objects.bulk_create(
        AuditEntry(
            at=now,
            user=user_of(by),
            token=token_of(by),
            address=where.address,
            request_id=where.request_id,
            session=where.session_of(),
            action=action,
            target=in_english(str(target)),
            details=details,
        )
        for target, details in entries
    )
