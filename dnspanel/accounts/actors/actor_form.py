"""Convert actors to the JSON form that the API, webhooks and publish hooks share. Pure.

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
    """Return the JSON form of an actor: a user, a user's token, the panel, or an anonymous visitor.

    If `username` and `token` are empty, the actor is an anonymous visitor if `is_anonymous` is set, or else the panel.
    `token` can also be a dict that `token_form` returned.
    """
    if token is not None:
        kind = "token"
    elif username:
        kind = "user"
    else:
        kind = "anonymous" if is_anonymous else "system"
    return {"kind": kind, "user": username or None, "token": token_form(token) if isinstance(token, Token) else token}


def actor_form_of(author: Author) -> dict[str, Any]:
    """Return the JSON form of an author: a user, a token or the panel itself."""
    user = user_of(author)
    return actor_form(user.username if user else None, token_of(author))


def person_form(user: User | None) -> dict[str, Any] | None:
    """Return the JSON form of a user, or None if `user` is None."""
    return None if user is None else actor_form(user.username)


def token_form(token: Token) -> dict[str, Any]:
    """Return the JSON form of a token, without its secret."""
    return token_form_of(token.pk, token.prefix, token.purpose)


def token_form_of(id: int, prefix: str, purpose: str) -> dict[str, Any]:
    """Return the JSON form of a token. Used by callers that have only these columns and no `Token` object."""
    return {"id": id, "prefix": prefix, "purpose": purpose}
