"""Connect sign-out in the panel with sign-out at an OpenID Connect provider. Verbs.

- OpenID Connect Back-Channel Logout 1.0: the provider reports that a user signed out there or lost access. The panel
  then ends the sessions that were started with the provider.
- RP-Initiated Logout 1.0: a user who signs out of the panel can also sign out at the provider.
"""

from collections.abc import Mapping
from datetime import datetime
from hashlib import sha256
from typing import Any
from urllib.parse import urlencode

from django.db import transaction
from django.http import HttpRequest

from dnspanel.accounts.audit import audit
from dnspanel.accounts.models import ProviderLink, Session, SignInProvider, User
from dnspanel.accounts.providers.oidc.id_token import Ended
from dnspanel.accounts.sessions.session_store import AT_PROVIDER

# The session key for the provider of the sign-in and the data for signing out there.
CAME_BY = "came-by"
_LONGEST_HINT = 4_000
_MOST_SESSIONS = 1_000


def note_session(request: HttpRequest, row: SignInProvider, told: Mapping[str, Any], id_token: str, end: str) -> None:
    """Store the hash of the provider's session id, and the data for signing out there. `end` is that URL, or ""."""
    sid = told.get("sid")
    request.session[CAME_BY] = {
        "provider": row.pk,
        "name": row.name,
        "client": row.client_id,
        "end": end,
        "hint": id_token if len(id_token) <= _LONGEST_HINT else "",
    }
    request.session[AT_PROVIDER] = session_key(row, sid) if isinstance(sid, str) and sid else ""


def session_key(row: SignInProvider, sid: str) -> str:
    """Hash the provider's session id. Panel sessions are stored with this hash and found by it."""
    return sha256(f"{row.pk}:{sid}".encode("utf-8", "replace")).hexdigest()


def sign_out_url(came_by: Mapping[str, Any], back: str) -> str:
    """Return the URL to sign out at the provider, or "" if the provider has none. `came_by` is from `note_session`."""
    if not came_by.get("end"):
        return ""
    query = {"client_id": came_by["client"], "post_logout_redirect_uri": back}
    query |= {"id_token_hint": came_by["hint"]} if came_by["hint"] else {}
    return f"{came_by['end']}{'&' if '?' in came_by['end'] else '?'}{urlencode(query)}"


def end_sessions(*, provider: SignInProvider, ended: Ended, now: datetime) -> int:
    """End the panel sessions that belong to ended provider sessions. Return their number."""
    with transaction.atomic(durable=True):
        count = 0
        for row in _sessions_of(provider, ended):
            if Session.objects.filter(pk=row.session_key).delete()[0]:
                count += 1
                name = row.user.username if row.user is not None else ""
                audit.record(
                    action="oidc.logout", by=None, now=now, target=name, provider=provider.name, browser=row.browser
                )
    return count


def _sessions_of(provider: SignInProvider, ended: Ended) -> list[Session]:
    """Return the panel sessions for the ended provider session, or all of the user's sessions from the provider."""
    person: User | None = None
    if ended.subject:
        link = ProviderLink.objects.select_related("user").filter(provider=provider, subject=ended.subject).first()
        if link is None:
            return []
        person = link.user
    rows = Session.objects.select_related("user")
    rows = rows.filter(user=person) if person is not None else rows
    if ended.session:
        return list(rows.filter(at_provider=session_key(provider, ended.session))[:_MOST_SESSIONS])
    found = rows.filter(user=person)[:_MOST_SESSIONS]
    return [row for row in found if row.get_decoded().get(CAME_BY, {}).get("provider") == provider.pk]
