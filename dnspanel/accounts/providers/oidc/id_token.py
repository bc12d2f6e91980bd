"""Verify a provider's ID tokens and Logout Tokens (OpenID Connect Core 1.0, section 3.1.3.7). Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from hmac import compare_digest
from typing import Any

import jwt

from dnspanel.accounts.errors import SignInRefused
from dnspanel.texts import gettext

# Public-key algorithms only. With HS256, the panel's own secret or a public key could sign.
ALGORITHMS = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA")
LEEWAY_SECONDS = 60  # the allowed difference between two clocks
LONGEST_SUBJECT = 255
LOGOUT_SECONDS = 120  # the maximum lifetime of a Logout Token, regardless of its claims
_LOGGED_OUT = "http://schemas.openid.net/event/backchannel-logout"
_LONGEST_TOKEN = 100_000


@dataclass(frozen=True, slots=True)
class Ended:
    """A session that ended at a provider. If `session` is empty, all sessions of the user ended.

    At least one of `subject` and `session` is not empty.
    """

    subject: str
    session: str


def verified_claims(
    id_token: object, *, keys: Mapping[str, Any], issuer: str, client_id: str, nonce: str, now: datetime
) -> dict[str, Any]:
    """Verify that this issuer signed the ID token for this client and nonce, and return its claims.

    `keys` is the provider's JSON Web Key Set. Raise SignInRefused if the token isn't valid.
    """
    claims = _verify_token(id_token, keys, issuer, client_id, ("sub", "exp"))
    _refuse_bad_times(claims, now)
    _refuse_other_party(claims, client_id)
    if not compare_digest(str(claims.get("nonce", "")).encode(), nonce.encode()) or not nonce:
        raise SignInRefused("nonce", gettext("The ID token belongs to another request."))
    subject = claims["sub"]
    # ASCII (section 2). Unprintable text could not be stored.
    is_text = isinstance(subject, str) and subject.isascii() and subject.isprintable()
    if not is_text or not 0 < len(subject) <= LONGEST_SUBJECT:
        raise SignInRefused("id-token", gettext("The ID token doesn’t have a valid subject."))
    return claims


def verified_logout(token: object, *, keys: Mapping[str, Any], issuer: str, client_id: str, now: datetime) -> Ended:
    """Verify a Logout Token and return the session or user that it ends (Back-Channel Logout 1.0, section 2.6).

    Raise SignInRefused unless this is a current Logout Token that the issuer signed for this client. Repeated use isn't
    checked, because a second use has no effect.
    """
    claims = _verify_token(token, keys, issuer, client_id, ("jti", "events"))
    issued = claims["iat"]
    latest = issued + LOGOUT_SECONDS if isinstance(issued, int | float) else None
    _refuse_bad_times({"iat": issued, "exp": latest}, now)
    _refuse_bad_times({"iat": issued, "exp": claims.get("exp", latest)}, now)
    events, subject, session = claims["events"], claims.get("sub", ""), claims.get("sid", "")
    # A token with a nonce is refused, so that an ID token isn't accepted as a Logout Token.
    if "nonce" in claims or not isinstance(events, dict) or not isinstance(events.get(_LOGGED_OUT), dict):
        raise SignInRefused("logout-token", gettext("This isn’t a Logout Token."))
    if not isinstance(subject, str) or not isinstance(session, str) or not (subject or session):
        raise SignInRefused("logout-token", gettext("The Logout Token doesn’t identify a person or session."))
    return Ended(subject.replace("\0", ""), session)


def with_userinfo(claims: Mapping[str, Any], userinfo: object) -> dict[str, Any]:
    """Return the ID token's claims, plus the claims that only the UserInfo response has.

    Raise SignInRefused unless both are about the same user (OpenID Connect Core 1.0, section 5.3.2).
    """
    if not isinstance(userinfo, dict) or userinfo.get("sub") != claims["sub"]:
        raise SignInRefused("userinfo", gettext("The provider’s UserInfo is about another person."))
    return {**userinfo, **claims}


def _verify_token(
    token: object, keys: Mapping[str, Any], issuer: str, client_id: str, required: Sequence[str]
) -> dict[str, Any]:
    """Verify a token's signature, issuer and audience, and return its claims. Raise SignInRefused if it is invalid.

    The claims `iss`, `aud` and `iat` must be present, as well as those in `required`. The caller must check the
    times.
    """
    if not isinstance(token, str) or len(token) > _LONGEST_TOKEN:
        raise SignInRefused("id-token", gettext("The provider sent no ID token."))
    try:
        claims: dict[str, Any] = jwt.decode(
            token,
            _key(token, keys),
            algorithms=list(ALGORITHMS),
            audience=client_id,
            issuer=issuer,
            options={
                "require": ["iss", "aud", "iat", *required],
                "verify_exp": False,
                "verify_iat": False,
                "verify_nbf": False,
            },
        )
    except jwt.InvalidAudienceError as exc:
        raise SignInRefused("audience", gettext("The ID token is for another client.")) from exc
    except jwt.InvalidIssuerError as exc:
        raise SignInRefused("issuer", gettext("The ID token is from another issuer.")) from exc
    except (jwt.PyJWTError, ValueError, TypeError, KeyError, AttributeError, RecursionError) as exc:
        raise SignInRefused("id-token", gettext("The ID token isn’t signed by the provider.")) from exc
    return claims


def _key(id_token: str, keys: Mapping[str, Any]) -> Any:
    """Return the signing key with the token's key id, or the only signing key if the token has no key id.

    Raise PyJWTError, KeyError or ValueError unless there is exactly one such key.
    """
    found = jwt.PyJWKSet.from_dict(dict(keys)).keys
    usable = [key for key in found if key.public_key_use in {None, "sig"}]
    named = jwt.get_unverified_header(id_token).get("kid")
    if named is not None:
        usable = [key for key in usable if key.key_id == named]
    if len(usable) != 1:
        raise KeyError(named)
    return usable[0]


def _refuse_bad_times(claims: Mapping[str, Any], now: datetime) -> None:
    at = now.timestamp()
    expires, issued = claims["exp"], claims["iat"]
    begins = claims.get("nbf", issued)
    if not all(isinstance(each, int | float) for each in (expires, issued, begins)):
        raise SignInRefused("id-token", gettext("The ID token doesn’t have valid timestamps."))
    is_current = issued - LEEWAY_SECONDS <= at and begins - LEEWAY_SECONDS <= at < expires + LEEWAY_SECONDS
    if not is_current:  # so that NaN is refused too
        raise SignInRefused(
            "expired", gettext("The ID token has expired, or the provider’s clock differs from the panel’s.")
        )


def _refuse_other_party(claims: Mapping[str, Any], client_id: str) -> None:
    party = claims.get("azp")
    is_of_several = isinstance(claims["aud"], list) and len(claims["aud"]) > 1
    if party != client_id and (party is not None or is_of_several):
        raise SignInRefused("audience", gettext("The ID token is for another client."))
