"""Deleting many zones is held until a person confirms it: a script that ran amok, an empty list, a slip of the hand.

What a publication removes inside one zone is the guard of `plan`.
"""

from datetime import datetime, timedelta

from django.db.models import F

from dnspanel.accounts.actors import Author, user_of
from dnspanel.zones.errors import MassDeletion
from dnspanel.zones.models import Zone

# More than this share of all zones, and more than a few of them, within this time, by one person and their tokens.
MASS_PERCENT = 1
MASS_FEW = 10
MASS_WINDOW = timedelta(minutes=10)


def is_short_lived(zone: Zone, *, now: datetime) -> bool:
    """Whether the zone is so young that deleting it alone takes back what was just made.

    Clients that make zones to try something and delete them one by one would else be held from the eleventh on.
    """
    return zone.created_at > now - MASS_WINDOW


def refuse_mass_deletion(*, author: Author, count: int, now: datetime) -> None:
    """Nothing, or MassDeletion if deleting `count` more zones would make it too many in a short time.

    Zones that are in the trash already do not count again, nor do those that were deleted as `is_short_lived`;
    the panel itself is not guarded.
    """
    user = user_of(author)
    if user is None:
        return
    lived = F("deleted_at") - MASS_WINDOW
    lately = Zone.objects.filter(deleted_at__gt=now - MASS_WINDOW, changed_by=user, created_at__lte=lived).count()
    if lately + count <= MASS_FEW:
        return
    there = Zone.objects.filter(deleted_at=None).count()
    if (lately + count) * 100 > MASS_PERCENT * (there + lately):
        raise MassDeletion(count=count, lately=lately, there=there)
