"""List a user's sessions, and end some or all of them. Verbs."""

from collections.abc import Iterable
from datetime import datetime, timedelta

from django.conf import settings
from django.contrib.auth import HASH_SESSION_KEY
from django.db import transaction
from django.db.models import F
from django.utils.crypto import constant_time_compare

from dnspanel.accounts.actors.actors import Author
from dnspanel.accounts.audit import audit
from dnspanel.accounts.errors import SessionUnknown
from dnspanel.accounts.models import Session, User
from dnspanel.accounts.rights.grant_edit import refuse_to_open

MOST_LISTED = 100


def sessions_of(user: User, now: datetime) -> list[Session]:
    """Return the user's valid sessions, most recently used first, at most MOST_LISTED. Uses one query."""
    rows = Session.objects.filter(user=user, expire_date__gt=now).order_by(F("seen_at").desc(nulls_last=True))
    hashed = user.get_session_auth_hash()
    idle_since = now - timedelta(minutes=settings.SESSION_IDLE_MINUTES)
    return [
        row
        for row in rows[:MOST_LISTED]
        if (row.seen_at is None or row.seen_at > idle_since)
        and constant_time_compare(row.get_decoded().get(HASH_SESSION_KEY, ""), hashed)
    ]


def end_session(*, user: User, public_id: str, now: datetime) -> None:
    """End the user's session with this public id. Raise SessionUnknown if `sessions_of` doesn't list it."""
    found = [row for row in sessions_of(user, now) if constant_time_compare(row.public_id, public_id)]
    if not found:
        raise SessionUnknown
    _end(found, user, by=user, now=now)


def end_other_sessions(*, user: User, keep: str | None, now: datetime) -> int:
    """End the user's valid sessions, at most MOST_LISTED, except the one with the key `keep`. Return their number."""
    return _end([row for row in sessions_of(user, now) if row.session_key != keep], user, by=user, now=now)


def end_all_sessions(*, user: User, by: Author, now: datetime) -> int:
    """End all of the user's sessions, including sign-ins that wait for a second factor.

    Return the number of sessions that `sessions_of` lists. Raise the errors of `refuse_to_open`.
    """
    refuse_to_open(by, user)
    found = sessions_of(user, now)
    with transaction.atomic(durable=True):
        User.objects.filter(pk=user.pk).update(sessions_ended=F("sessions_ended") + 1)
        Session.objects.filter(user=user).delete()
        audit.record(action="session.end-all", by=by, now=now, target=user.username, sessions=len(found))
    return len(found)


def forget_dead_sessions(*, user: User, now: datetime) -> None:
    """Delete the rows of the user's expired sessions."""
    Session.objects.filter(user=user, expire_date__lte=now).delete()


def _end(rows: Iterable[Session], user: User, *, by: Author, now: datetime) -> int:
    with transaction.atomic(durable=True):
        ended = 0
        for row in rows:
            if Session.objects.filter(pk=row.session_key).delete()[0]:
                ended += 1
                ended_session = {"at": row.address, "browser": row.browser, "session": row.public_id}
                audit.record(action="session.end", by=by, now=now, target=user.username, **ended_session)
    return ended
