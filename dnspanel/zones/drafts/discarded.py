"""Store discarded drafts for a while, and restore them. Verbs."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Count, Min

from dnspanel.accounts.audit import audit
from dnspanel.accounts.models import User
from dnspanel.database.first_rows import first_or
from dnspanel.zones.drafts.draft import Drafter, open_draft, person
from dnspanel.zones.drafts.named_drafts import merge_into
from dnspanel.zones.errors import DraftUnknown
from dnspanel.zones.models import Draft, Operation, Zone

KEPT = timedelta(days=7)
MOST_KEPT = 5  # per person; the oldest is deleted first


@dataclass(frozen=True, slots=True)
class Discarded:
    """Changes that a person discarded together, and when they were discarded."""

    id: int
    at: datetime
    changes: int
    zones: int
    first_zone: str

    @property
    def until(self) -> datetime:
        return self.at + KEPT


def discard(*, author: Drafter, now: datetime, zone: Zone | None = None) -> int:
    """Discard the author's draft, or only its changes to `zone`. Return the number of discarded operations.

    `take_back` can restore the changes. Only the author's newest MOST_KEPT discarded drafts are stored.
    """
    owner = person(author)
    with transaction.atomic():
        current = Draft.objects.select_for_update(no_key=True).filter(author=owner).first()
        operations = Operation.objects.filter(draft=current)
        if zone is not None:
            operations = operations.filter(zone=zone)
        if current is None or not operations.exists():
            return 0
        worked_in = sorted({*current.worked_in, owner.pk})
        kept = Draft.objects.create(owner=owner, discarded_at=now, changed_at=now, worked_in=worked_in)
        count = operations.update(draft=kept)
        old = Draft.objects.filter(owner=owner, discarded_at__isnull=False).order_by("-discarded_at", "-pk")
        Draft.objects.filter(pk__in=list(old.values_list("pk", flat=True)[MOST_KEPT:])).delete()
        audit.record(action="draft.discard", by=author, now=now, target=zone.name if zone else "", changes=count)
    return count


def discarded_by(owner: User, *, now: datetime) -> Sequence[Discarded]:
    """Return the discarded drafts that `owner` can restore, newest first. Makes one query."""
    operations = Operation.objects.filter(draft__owner=owner, draft__discarded_at__gt=now - KEPT)
    rows = operations.values_list("draft_id", "draft__discarded_at").order_by("-draft__discarded_at", "-draft_id")
    counted = rows.annotate(changes=Count("pk"), zones=Count("zone", distinct=True), first=Min("zone__name"))
    return [Discarded(*row) for row in counted]


def take_back(*, author: Drafter, draft_id: int, now: datetime) -> int:
    """Move a discarded draft's changes, with their bases, back into the author's draft. Return their number.

    Raise DraftUnknown if the discarded draft isn't the author's or was discarded at least KEPT ago. Raise DraftRefused
    if both drafts change the same RRset, and QuotaExceeded if the draft would be too large. Errors change nothing.
    """
    with transaction.atomic(durable=True):
        found = Draft.objects.select_for_update(no_key=True).filter(
            pk=draft_id, owner=person(author), discarded_at__gt=now - KEPT
        )
        kept = first_or(found, DraftUnknown)
        operations = Operation.objects.filter(draft=kept)
        count = operations.count()
        merge_into(author, operations, open_draft(author, now))
        kept.delete()
        audit.record(action="draft.take-back", by=author, now=now, changes=count)
    return count


def forget_discarded(*, now: datetime) -> int:
    """Delete drafts that were discarded at least KEPT ago. Return the number of deleted drafts."""
    old = Draft.objects.filter(discarded_at__lte=now - KEPT)
    count = old.count()
    old.delete()
    return count
