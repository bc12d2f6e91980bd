"""Store sessions in the panel's own table, with Django's columns and extra ones for listing and ending sessions.

Django's documentation calls this "extending database-backed session engines". A request that is in progress when its
session ends can't restore the session: its row no longer exists, so the request fails with status 400.
"""

from datetime import UTC, datetime
from typing import Any

from django.contrib.auth import SESSION_KEY
from django.contrib.sessions.backends import db
from django.http import HttpRequest

from dnspanel.accounts.models import Session

BEGAN, SEEN, ADDRESS, BROWSER = "began", "seen", "address", "browser"
AT_PROVIDER = "at-provider"  # the hash of the provider's session
LONGEST_BROWSER = 200
# In the session of a person who must set up a second factor first.
MUST_SET_UP = "must-set-up"
# In a session from a sign-in with a provider: the session's end, in seconds since 1970.
SESSION_ENDS = "session-ends"


class SessionStore(db.SessionStore):
    """A session store that copies user, times, address, browser and provider session to columns of its row."""

    @classmethod
    def get_model_class(cls) -> Any:
        return Session

    def create_model_instance(self, data: dict[str, Any]) -> Any:
        row: Any = super().create_model_instance(data)
        row.user_id = int(data[SESSION_KEY]) if SESSION_KEY in data else None
        row.began_at, row.seen_at = _time(data.get(BEGAN)), _time(data.get(SEEN))
        row.address, row.browser = data.get(ADDRESS), data.get(BROWSER, "")
        row.at_provider = data.get(AT_PROVIDER, "")
        return row


def note_sign_in(request: HttpRequest, now: float) -> None:
    """Store the start time (`now`, Unix seconds) and the browser in the session, then call `note_seen`."""
    request.session[BEGAN] = int(now)
    request.session[BROWSER] = request.headers.get("User-Agent", "")[:LONGEST_BROWSER].replace("\0", "")
    note_seen(request, now)


def end_in_hours(request: HttpRequest, hours: int, now: float) -> None:
    """Limit the session to this number of hours from `now` (Unix seconds), unless it already ends earlier."""
    ends = int(now) + hours * 3600
    request.session[SESSION_ENDS] = min(ends, request.session.get(SESSION_ENDS, ends))


def note_seen(request: HttpRequest, now: float) -> None:
    """Store the time of last use (`now`, Unix seconds) and the client's address in the session."""
    request.session[SEEN] = int(now)
    request.session[ADDRESS] = request.META.get("REMOTE_ADDR") or None


def _time(seconds: int | None) -> datetime | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC)
