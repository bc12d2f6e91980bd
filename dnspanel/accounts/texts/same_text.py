"""Compare strings in queries, ignoring ASCII case. Accounts use `find_people` instead."""

from django.db.models import F, Q, Value
from django.db.models.functions import Collate, Lower
from django.db.models.lookups import Exact

from dnspanel.accounts.texts.canonical import ascii_lower


def same_but_for_ascii_case(column: str, text: str) -> Q:
    """Return the query condition that the column equals this text, ignoring the case of A to Z."""
    if "\0" in text:
        return Q(pk__in=())
    # With the collation "C", PostgreSQL only folds ASCII. Others also fold letters such as the Kelvin sign.
    return Q(Exact(Lower(Collate(F(column), "C")), Value(ascii_lower(text))))
