"""Enforce the quotas on unfinished imports and their files, and compute the usage of a person or team."""

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

# Days that the files of an ended import are kept, for corrections.
KEPT_DAYS = 30
# Without a quota, pages and the API count up to this number.
MOST_COUNTED = 100_000


def refuse_import(author: Author) -> None:
    """Raise QuotaExceeded if another unfinished import would exceed the quota of the author or one of their teams.

    Until the transaction ends, no other import can be created for the same person or team.
    """
    refuse_beyond(
        holders_for(author),
        Kind.IMPORTS,
        added=1,
        count=import_count,
        refusal=lambda reason: QuotaExceeded(
            gettext("{reason} Cancel imports that you no longer need.").format(reason=reason)
        ),
    )


def import_count(holder: Holder, most: int) -> int:
    """Return the number of unfinished imports of a person or a team's members, counting at most `most`."""
    return _jobs_of(holder).exclude(state__in=ENDED_STATES)[:most].count()


def refuse_bytes(author: Author, added: int, *, now: datetime) -> None:
    """Raise QuotaExceeded if `added` bytes of files exceed the quota of the author or of one of the author's teams.

    Until the transaction ends, no other bytes can be added for the same person or team.
    """
    refuse_beyond(
        holders_for(author),
        Kind.BYTES,
        added=added,
        count=lambda holder, most: bytes_of(holder, now),
        refusal=lambda reason: QuotaExceeded(gettext("{reason} Delete old imports.").format(reason=reason)),
    )


def bytes_left(author: Author, *, now: datetime) -> int | None:
    """Return the number of file bytes that the author can still add, or None if there is no limit."""
    limited = [(holder, limit) for holder in holders_for(author) if (limit := holder.limits[Kind.BYTES]) is not None]
    return min((max(0, limit - bytes_of(holder, now)) for holder, limit in limited), default=None)


def bytes_of(holder: Holder, now: datetime) -> int:
    """Return the number of bytes on the panel's disk for imports of a person or a team's members.

    The database has the sizes of uploads, spool files and stage files. Imports that ended long ago don't have files.
    """
    jobs = _jobs_of(holder).filter(Q(ended_at=None) | Q(ended_at__gt=now - timedelta(days=KEPT_DAYS)))
    uploads = jobs.aggregate(total=Coalesce(Sum("upload_bytes"), 0))["total"]
    pieces = ImportPiece.objects.filter(job__in=jobs.values("pk"))
    return int(uploads + pieces.aggregate(total=Coalesce(Sum(F("spool_size") + F("stage_size")), 0))["total"])


def usage_of(holder: Holder, now: datetime) -> tuple[Usage, ...]:
    """Return a person's or team's usage and limit for every quota."""
    return tuple(usage_of_kind(holder, kind, now) for kind in Kind)


def usage_of_kind(holder: Holder, kind: Kind, now: datetime) -> Usage:
    """Return a person's or team's usage and limit for this quota."""
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
    return None  # these limits apply per zone, or to the draft of each member


def _jobs_of(holder: Holder) -> "QuerySet[ImportJob]":
    people: dict[str, Any] = members_bound_by(holder.pk) if holder.team else {"pk": holder.pk}
    return ImportJob.objects.filter(author__in=User.objects.filter(**people).values("pk"))
