"""The condition that a column is a text, where small and capital letters are alike; accounts have `find_people`."""

from django.db.models import F, Q, Value
from django.db.models.functions import Collate, Lower
from django.db.models.lookups import Exact

from dnspanel.accounts.texts.canonical import ascii_lower


def same_but_for_ascii_case(column: str, text: str) -> Q:
    """Return the condition that the column is this text, whether its letters A to Z are small or capital."""
    if "\0" in text:
        return Q(pk__in=())
    # By the rules of "C", PostgreSQL folds ASCII alone; by those of a language, also the Kelvin sign and others.
    return Q(Exact(Lower(Collate(F(column), "C")), Value(ascii_lower(text))))
