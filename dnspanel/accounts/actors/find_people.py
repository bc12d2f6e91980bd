"""Find accounts by a user name or email address that a user typed or another system sent.

User names and addresses are compared by their canonical spelling, which is stored with the account. An account has no
canonical spelling if another account has the same one, or if its name or address has no canonical form. Such an account
is found only by its exact name or address.
"""

from django.db.models import Q

from dnspanel.accounts.models import User
from dnspanel.accounts.texts.canonical import canonical_mail, canonical_username


def has_username(text: str, prefix: str = "") -> Q:
    """Return the query condition for accounts with this user name. `prefix` is a path to the account (`author__`)."""
    return _has_spelling(text, canonical_username(text), f"{prefix}username", f"{prefix}name_key")


def has_mail(text: str, prefix: str = "") -> Q:
    """Return the query condition for accounts with this email address. `prefix` works as in `has_username`."""
    return _has_spelling(text, canonical_mail(text), f"{prefix}email", f"{prefix}mail_key")


def account_named(typed: str) -> User | None:
    """Return the account with this name or email address, or None. Prefer an exact user name. Uses one query."""
    found = User.objects.filter(has_username(typed) | has_mail(typed)) if typed else User.objects.none()
    return min(found, key=lambda user: (user.username != typed, user.pk), default=None)


def name_is_taken(username: str, but: int = 0) -> bool:
    """Return True if an account other than `but` has this user name in any spelling."""
    others = User.objects.exclude(pk=but)
    if others.filter(has_username(username) | Q(username=username)).exists():
        return True
    key = canonical_username(username)
    unkeyed = others.filter(name_key=None).values_list("username", flat=True)
    return key is not None and any(canonical_username(each) == key for each in unkeyed)


def mail_is_taken(email: str, but: int = 0) -> bool:
    """Return True if an account other than `but` has this email address in any spelling."""
    others = User.objects.exclude(pk=but)
    if others.filter(has_mail(email) | Q(email=email)).exists():
        return True
    key = canonical_mail(email)
    unkeyed = others.filter(mail_key=None).exclude(email=None).values_list("email", flat=True)
    return key is not None and any(canonical_mail(each or "") == key for each in unkeyed)


def free_name(stem: str) -> str:
    """Return this user name if it is free. Otherwise, return it with the first free number, such as `alice-2`."""
    key = canonical_username(stem) or stem
    begun = User.objects.filter(Q(name_key__startswith=key) | Q(name_key=None)).values_list("username", flat=True)
    taken = {canonical_username(each) or each for each in begun[:10_000]}
    number, found = 1, stem
    while (canonical_username(found) or found) in taken:
        number += 1
        found = f"{stem}-{number}"
    return found


def _has_spelling(text: str, key: str | None, column: str, key_column: str) -> Q:
    if "\0" in text:
        return Q(pk__in=())
    exactly = Q(**{key_column: None, column: text})
    return exactly if key is None else exactly | Q(**{key_column: key})
