"""Store missing canonical spellings of accounts, and report accounts that can't have one. Verbs."""

from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

from dnspanel.accounts.texts.canonical import canonical_mail, canonical_username


def fill_keys(people: Any) -> list[str]:
    """Store the missing canonical user names and email addresses of accounts. Return the problems, in English.

    `people` is a query set of accounts, or the manager of a migration's model. An account doesn't get a spelling that
    is already stored with another account. If several accounts lack the same spelling, the only open one gets the
    spelling, or no account if none or several are open. Accounts without a spelling are found only by their exact name
    or address.
    """
    return [
        *_fill(people, "username", "name_key", canonical_username),
        *_fill(people, "email", "mail_key", canonical_mail),
    ]


def _fill(people: Any, column: str, key_column: str, canonical: Callable[[str], str | None]) -> Iterator[str]:
    what = {"username": "user name", "email": "mail address"}[column]
    holders = set(people.exclude(**{key_column: None}).values_list(key_column, flat=True))
    rows = people.filter(**{key_column: None}).exclude(**{column: None}).order_by("pk")
    alike: dict[str, list[Any]] = defaultdict(list)
    for row in rows.only("pk", "username", "email", "is_active"):
        key = canonical(getattr(row, column))
        if key is None:
            yield (
                f"{_title_of_row(row)}: the {what} has no canonical spelling. "
                f"The account works only with the exact {what}, and sign-in providers cannot find the account by it."
            )
        else:
            alike[key].append(row)
    for key, found in alike.items():
        open_ones = [row for row in found if row.is_active]
        owner = found[0] if len(found) == 1 else open_ones[0] if len(open_ones) == 1 else None
        if owner is not None and key not in holders:
            people.filter(pk=owner.pk).update(**{key_column: key})
            found = [row for row in found if row is not owner]
        for row in found:
            yield (
                f"{_title_of_row(row)}: another account has the same {what} in another spelling ({key}). "
                f"The account works only with the exact {what}, and sign-in providers cannot find the account by it."
            )


def _title_of_row(row: Any) -> str:
    return f"Account {row.pk} ({row.username!a}{f', {row.email!a}' if row.email else ''})"
