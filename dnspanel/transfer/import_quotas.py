"""Quotas of imports under way and of their files, and everything that a person or a team has at a glance."""

from datetime import datetime, timedelta
from typing import Any

from django.db.models import F, Q, QuerySet, Sum
from django.db.models.functions import Coalesce

from dnspanel.accounts.actors.actors import Author
from dnspanel.accounts.models import User
from dnspanel.accounts.quotas.quota_amounts import Kind
from dnspanel.accounts.quotas.quotas import Holder, Usage, holders_for, members_bound_by, refuse_beyond
from dnspanel.accounts.tokens.tokens import token_count
from dnspanel.texts import gettext
from dnspanel.transfer.errors import QuotaExceeded
from dnspanel.transfer.models import ENDED_STATES, ImportJob, ImportPiece
from dnspanel.zones.plan.zone_quotas import named_draft_count, operation_count, zone_count

# How long an ended import keeps its files, for corrections.
KEPT_DAYS = 30
# Where nothing limits, pages and API count no further than this.
MOST_COUNTED = 100_000


def refuse_import(author: Author) -> None:
    """Raise QuotaExceeded if the author, or a team of theirs, has as many imports under way as they may.

    Until the transaction ends, no other import is begun for the same person or team.
    """
    refuse_beyond(
        holders_for(author),
        Kind.IMPORTS,
        added=1,
        count=import_count,
        refusal=lambda reason: QuotaExceeded(
            gettext("{reason} An import that is not needed any more can be cancelled.").format(reason=reason)
        ),
    )


def import_count(holder: Holder, most: int) -> int:
    """Return how many imports of a person, or of a team's members, have not ended; counted up to `most`."""
    return _jobs_of(holder).exclude(state__in=ENDED_STATES)[:most].count()


def refuse_bytes(author: Author, added: int, *, now: datetime) -> None:
    """Raise QuotaExceeded if this many more bytes of files are too many for the author, or for a team of theirs.

    Until the transaction ends, no other bytes are added for the same person or team.
    """
    refuse_beyond(
        holders_for(author),
        Kind.BYTES,
        added=added,
        count=lambda holder, most: bytes_of(holder, now),
        refusal=lambda reason: QuotaExceeded(gettext("{reason} Old imports can be deleted.").format(reason=reason)),
    )


def bytes_left(author: Author, *, now: datetime) -> int | None:
    """Return how many bytes of files the author may add at this moment; None for any number."""
    limited = [(holder, limit) for holder in holders_for(author) if (limit := holder.limits[Kind.BYTES]) is not None]
    return min((max(0, limit - bytes_of(holder, now)) for holder, limit in limited), default=None)


def bytes_of(holder: Holder, now: datetime) -> int:
    """Return how many bytes the imports of a person, or of a team's members, have on the panel's disk.

    Their rows say it: uploads, and per piece what was read and what is ready. Pieces are few, and those that ended
    long ago have no files any longer.
    """
    jobs = _jobs_of(holder).filter(Q(ended_at=None) | Q(ended_at__gt=now - timedelta(days=KEPT_DAYS)))
    uploads = jobs.aggregate(total=Coalesce(Sum("upload_bytes"), 0))["total"]
    pieces = ImportPiece.objects.filter(job__in=jobs.values("pk"))
    return int(uploads + pieces.aggregate(total=Coalesce(Sum(F("spool_size") + F("stage_size")), 0))["total"])


def usage_of(holder: Holder, now: datetime) -> tuple[Usage, ...]:
    """Return how much the holder has of each kind, beside how much they may have."""
    return tuple(usage_of_kind(holder, kind, now) for kind in Kind)


def usage_of_kind(holder: Holder, kind: Kind, now: datetime) -> Usage:
    """Return how much the holder has of this kind, beside how much they may have."""
    return Usage(kind, holder.limits[kind], _count_used(holder, kind, now))


def _count_used(holder: Holder, kind: Kind, now: datetime) -> int | None:
    limit = holder.limits[kind]
    most = MOST_COUNTED if limit is None else limit + 1
    if kind is Kind.ZONES:
        return zone_count(holder, most)
    if kind is Kind.DRAFTS:
        return named_draft_count(holder, most)
    if kind is Kind.TOKENS:
        return token_count(holder, now, most)
    if kind is Kind.IMPORTS:
        return import_count(holder, most)
    if kind is Kind.BYTES:
        return bytes_of(holder, now)
    if kind is Kind.OPERATIONS and not holder.team:
        return operation_count(holder.pk, most)
    return None  # a limit of each zone, of each member's draft


def _jobs_of(holder: Holder) -> "QuerySet[ImportJob]":
    people: dict[str, Any] = members_bound_by(holder.pk) if holder.team else {"pk": holder.pk}
    return ImportJob.objects.filter(author__in=User.objects.filter(**people).values("pk"))
