"""The one form in which the API, webhooks and publish hooks say who acted: plain values for JSON. Pure.

{"kind": "token", "user": "alice", "token": {"id": 7, "prefix": "dnsp_x1y2", "purpose": "platform"}}
"""

from collections.abc import Mapping
from typing import Any

from dnspanel.accounts.actors.actors import Author, token_of, user_of
from dnspanel.accounts.models import Token, User

KINDS = ("user", "token", "system", "anonymous")


def actor_form(
    username: str | None, token: Token | Mapping[str, Any] | None = None, *, is_anonymous: bool = False
) -> dict[str, Any]:
    """Return who acted: a person, a token of that person, or the panel itself; anonymous is a visitor.

    `token` may be its `token_form` already.
    """
    if token is not None:
        kind = "token"
    elif username:
        kind = "user"
    else:
        kind = "anonymous" if is_anonymous else "system"
    return {"kind": kind, "user": username or None, "token": token_form(token) if isinstance(token, Token) else token}


def actor_form_of(author: Author) -> dict[str, Any]:
    """Return who an act is recorded for."""
    user = user_of(author)
    return actor_form(user.username if user else None, token_of(author))


def person_form(user: User | None) -> dict[str, Any] | None:
    """Return the form of a person where no token is stored; None if the person is not known."""
    return None if user is None else actor_form(user.username)


def token_form(token: Token) -> dict[str, Any]:
    """Return how a token is named everywhere: without its secret."""
    return token_form_of(token.pk, token.prefix, token.purpose)


def token_form_of(id: int, prefix: str, purpose: str) -> dict[str, Any]:
    """Return the same from columns that were read without the rest of the token."""
    return {"id": id, "prefix": prefix, "purpose": purpose}
