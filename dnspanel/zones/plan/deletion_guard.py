"""Stop a deletion of many zones until a person confirms it.

The deletion could come from a faulty script, an empty list or a mistake. The guard in `plan` does the same for the
RRsets of one zone.
"""

from collections.abc import Collection
from datetime import datetime, timedelta

from django.conf import settings
from django.db.models import Exists, OuterRef, QuerySet, Sum

from dnspanel import rehearsal
from dnspanel.accounts.actors.actors import Author, token_of, user_of
from dnspanel.zones.errors import GuardedZone, MassDeletion
from dnspanel.zones.models import Publication, Zone

# Deleting at most this number of zones within MASS_WINDOW is never a mass deletion. Above it, the percentage counts.
MASS_FEW = 25
MASS_PERCENT = 1
MASS_WINDOW = timedelta(minutes=10)
# The number of zones that the error names.
MOST_NAMED = 100


def refuse_mass_deletion(
    *, author: Author, count: int, now: datetime, names: Collection[str] = (), zones: "QuerySet[Zone] | None" = None
) -> None:
    """Raise MassDeletion if the author would delete too many zones in a short time, including `count` more zones.

    `names` are the names of the zones, if they are known. `zones` selects the zones, so that the error can list them.
    Names in use again don't count, so a test client can repeatedly create and delete the same zone. The guard does not
    apply to the panel itself, or to tokens that are allowed to delete many zones.
    """
    if is_unguarded(author):
        return
    recent = _count_recent(author, now, names)
    if recent + count <= MASS_FEW:
        return
    existing = Zone.objects.filter(deleted_at=None).count()
    most = max(MASS_FEW, MASS_PERCENT * (existing + recent) // 100)
    if recent + count > most:
        found = Zone.objects.none() if zones is None else zones.order_by("name")
        refusal = MassDeletion(
            count=count,
            recent=recent,
            existing=existing,
            most=most,
            window=MASS_WINDOW,
            zones=[GuardedZone(zone.name, (), zone.rrset_count, zone.rrset_count) for zone in found[:MOST_NAMED]],
            rrsets=found.aggregate(rrsets=Sum("rrset_count", default=0))["rrsets"],
        )
        rehearsal.hold(refusal)


def is_unguarded(author: Author) -> bool:
    """Return True if the guard doesn't apply to the author: the panel, or a token that can delete many zones.

    A token can delete many zones if its `deletes_many` or the setting TOKENS_DELETE_MANY is True.
    """
    token = token_of(author)
    return author is None or (token is not None and (token.deletes_many or settings.TOKENS_DELETE_MANY))


def _count_recent(author: Author, now: datetime, besides: Collection[str]) -> int:
    """Count the zone names that this author deleted within MASS_WINDOW, except given names and names in use again."""
    by_them = Publication.objects.filter(sequence=OuterRef("sequence"), author=user_of(author), token=token_of(author))
    is_back = Exists(Zone.objects.filter(name=OuterRef("name"), deleted_at=None))
    gone = Zone.objects.filter(~is_back, Exists(by_them), deleted_at__gt=now - MASS_WINDOW).exclude(name__in=besides)
    return gone.values("name").distinct().count()
