"""Deleting many zones is held until a person confirms it: a script that ran amok, an empty list, a slip of the hand.

What a publication removes inside one zone is the guard of `plan`.
"""

from datetime import datetime, timedelta

from django.db.models import Exists, OuterRef

from dnspanel.accounts.actors import Author, user_of
from dnspanel.zones.errors import MassDeletion
from dnspanel.zones.models import Zone

# More than this share of all zones, and more than a few of them, within this time, by one person and their tokens.
MASS_PERCENT = 1
MASS_FEW = 10
MASS_WINDOW = timedelta(minutes=10)


def refuse_mass_deletion(*, author: Author, count: int, now: datetime, name: str = "") -> None:
    """Raise MassDeletion if deleting `count` more zones would make it too many in a short time.

    `name` is that of the zone, where it is one. What counts are names that are gone: a client that makes the
    same zone again and again to try something, and deletes it each time, is not held. The panel itself is not guarded.
    """
    user = user_of(author)
    if user is None:
        return
    is_back = Exists(Zone.objects.filter(name=OuterRef("name"), deleted_at=None))
    gone = Zone.objects.filter(~is_back, deleted_at__gt=now - MASS_WINDOW, changed_by=user).exclude(name=name)
    lately = gone.values("name").distinct().count()
    if lately + count <= MASS_FEW:
        return
    existing = Zone.objects.filter(deleted_at=None).count()
    if (lately + count) * 100 > MASS_PERCENT * (existing + lately):
        raise MassDeletion(count=count, lately=lately, existing=existing)
