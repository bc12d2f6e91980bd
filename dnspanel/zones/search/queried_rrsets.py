"""Read how often nodes get queries for RRsets, and since when their counts are complete."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from django.conf import settings
from django.db.models import Max, Q, Sum
from django.utils import timezone
from django.utils.formats import date_format

from dnspanel.database.statement_time import SearchTooGeneral
from dnspanel.texts import gettext
from dnspanel.zones.models import CountingNode, QueriedRRset
from dnspanel.zones.search.terms import Filter, Search, Since

MOST_DAYS = 90
RECENT_DAYS = 7  # for the queries per day
_LATE = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Counting:
    """The first day since when all nodes have counted every query, without `missed_seconds`.

    If there is a `problem`, some node doesn't count, and no day is complete.
    """

    first_day: date
    missed_seconds: int
    problem: str

    @property
    def days(self) -> int:
        """The number of complete days before today, at most MOST_DAYS."""
        return 0 if self.problem else (timezone.now().date() - self.displayed_since).days

    @property
    def displayed_since(self) -> date:
        """The first complete day, or the day MOST_DAYS ago if that is later."""
        return max(self.first_day, timezone.now().date() - timedelta(days=MOST_DAYS))


def counting_now() -> Counting:
    """Return since when the counts are complete, in two queries. Only call this if settings.COUNT_QUERIES is True."""
    now = timezone.now()
    last = CountingNode.objects.filter(has_left=False).order_by("until").first()
    if last is None:
        return Counting(now.date(), 0, gettext("no node has reported yet"))
    found = CountingNode.objects.aggregate(since=Max("since"), missed=Sum("missed_seconds"))
    problem = ": ".join(filter(None, (last.name, last.problem))) if last.until < now - _LATE else ""
    return Counting(found["since"].date() + timedelta(days=1), round(found["missed"]), problem)


def uses_of(
    zone_id: int, keys: Collection[tuple[bytes, int]], counting: Counting
) -> dict[tuple[bytes, int], tuple[float, date]]:
    """Return queries per day and the last day with any, by owner key and type. Needs one query."""
    days = max(1, min(RECENT_DAYS, (timezone.now().date() - counting.first_day).days + 1))
    rows = QueriedRRset.objects.filter(zone_id=zone_id, owner_key__in={key for key, _ in keys})
    recent = Sum("times", filter=Q(day__gt=timezone.now().date() - timedelta(days=days)), default=0)
    found = rows.values_list("owner_key", "type").annotate(recent=recent, last=Max("day"))
    return {(bytes(key), type): (times / days, last) for key, type, times, last in found}


def refuse_unless_counted(search: Search) -> None:
    """Raise SearchTooGeneral if the search has `queried:`, and not all nodes have counted since its first day."""
    for term in search.terms:
        if term.filter is not Filter.QUERIED or not isinstance(term.meaning, Since):
            continue
        if not settings.COUNT_QUERIES:
            message = gettext("{typed} finds nothing because queries aren’t counted.").format(typed=term.typed)
        elif (counting := counting_now()).problem:
            message = gettext("{typed} can’t be used because not all nodes count queries ({problem}).").format(
                typed=term.typed, problem=counting.problem
            )
        elif day_of(term.meaning.after or term.meaning.before) < (first := counting.first_day):
            message = gettext(
                "{typed} can’t be answered because all nodes have counted queries only since {day}. "
                "Use {filter}:>={iso} or a later day."
            ).format(typed=term.typed, day=date_format(first), filter=term.filter, iso=first)
        else:
            continue
        raise SearchTooGeneral(message)


def day_of(moment: datetime | timedelta | None) -> date:
    """Return the day (UTC) of a time or an age, which must not be None."""
    assert moment is not None
    return (timezone.now() - moment if isinstance(moment, timedelta) else moment).date()
