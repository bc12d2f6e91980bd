"""Deleting many zones is held until a person confirms it: a script that ran amok, an empty list, a slip of the hand.

What a publication removes inside one zone is the guard of `plan`.
"""

from datetime import datetime, timedelta

from dnspanel.accounts.actors import Author, user_of
from dnspanel.zones.errors import MassDeletion
from dnspanel.zones.models import Zone

# More than this share of all zones, and more than a few of them, within this time, by one person and their tokens.
MASS_PERCENT = 1
MASS_FEW = 10
MASS_WINDOW = timedelta(minutes=10)


def refuse_mass_deletion(*, author: Author, count: int, now: datetime) -> None:
    """Nothing, or MassDeletion if deleting `count` more zones would make it too many in a short time.

    Zones that are in the trash already do not count again; the panel itself is not guarded.
    """
    user = user_of(author)
    if user is None:
        return
    lately = Zone.objects.filter(deleted_at__gt=now - MASS_WINDOW, changed_by=user).count()
    if lately + count <= MASS_FEW:
        return
    there = Zone.objects.filter(deleted_at=None).count()
    if (lately + count) * 100 > MASS_PERCENT * (there + lately):
        raise MassDeletion(count=count, lately=lately, there=there)
