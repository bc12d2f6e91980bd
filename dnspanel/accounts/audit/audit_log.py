"""Query audit entries about one token or one account. `zones.trail` reads the whole audit log."""

from django.db.models import Q

from dnspanel.accounts.models import AuditEntry, Token

_ABOUT_TOKENS = ("token.create", "token.rotate", "token.revoke", "token.change", "token.secret")
_ABOUT_PEOPLE = (
    *("person.join", "person.role", "person.close", "person.open", "person.password", "person.quotas"),
    *("second-factor.reset", "second-factor.wanted", "second-factor.failed", "second-factor.replayed"),
    *("second-factor.locked", "session.end-all", "person.password-link", "person.same"),
)


def entries_about_token(token: Token, limit: int = 20) -> tuple[AuditEntry, ...]:
    """Return the newest audit entries about this token and about actions performed with it."""
    about = Q(action__in=_ABOUT_TOKENS, details__token=token.pk) | Q(action__in=_ABOUT_TOKENS, details__new=token.pk)
    entries = AuditEntry.objects.filter(about | Q(token=token)).select_related("user", "token")
    return tuple(entries.order_by("-pk")[:limit])


def entries_about_person(username: str, user_id: int, limit: int = 20) -> tuple[AuditEntry, ...]:
    """Return the newest audit entries about this account and about this user's actions."""
    done = Q(user=user_id) | Q(action__in=_ABOUT_PEOPLE, target=username)
    return tuple(AuditEntry.objects.filter(done).select_related("user", "token").order_by("-pk")[:limit])
