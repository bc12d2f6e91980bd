"""The audit log: every act that is not a publication; publications are their own record. Verbs."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from dnspanel.accounts.actors.actors import Author, token_of, user_of
from dnspanel.accounts.models import AuditEntry
from dnspanel.texts import in_english


@dataclass(frozen=True, slots=True)
class Origin:
    """From where a request came: the address of its sender, and the id under which logs know it."""

    address: str | None = None
    request_id: str = ""


_NOWHERE = Origin()
_origin: ContextVar[Origin] = ContextVar("origin", default=_NOWHERE)


def origin() -> Origin:
    """From where the request at hand came; empty outside of requests."""
    return _origin.get()


@contextmanager
def coming_from(where: Origin) -> Iterator[None]:
    """Within, `origin()` is this."""
    reset = _origin.set(where)
    try:
        yield
    finally:
        _origin.reset(reset)


def record(*, action: str, by: Author, now: datetime, target: str = "", **details: Any) -> None:
    """The act is in the audit log, with the origin of the request at hand. `details` must hold no secrets.

    Belongs into the transaction of the act, so that there is neither an act
    without its entry nor an entry without its act.
    """
    record_each(action=action, by=by, now=now, targets={target: details})


def record_each(*, action: str, by: Author, now: datetime, targets: Mapping[str, Mapping[str, Any]]) -> None:
    """The same for many targets at once, in one query: target → details."""
    record_all(action=action, by=by, now=now, entries=targets.items())


def record_all(*, action: str, by: Author, now: datetime, entries: Iterable[tuple[str, Mapping[str, Any]]]) -> None:
    """The same where a target may be there more than once: pairs of target and details."""
    where = _origin.get()
    AuditEntry.objects.bulk_create(
        AuditEntry(
            at=now,
            user=user_of(by),
            token=token_of(by),
            address=where.address,
            request_id=where.request_id,
            action=action,
            target=in_english(str(target)),
            details=details,
        )
        for target, details in entries
    )
