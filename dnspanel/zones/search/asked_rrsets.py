"""Read how often nodes are asked for RRsets, and the time for which their counts are complete."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from django.conf import settings
from django.db.models import Max, Q, Sum
from django.utils import timezone
from django.utils.formats import date_format

from dnspanel.database.statement_time import SearchTooGeneral
from dnspanel.texts import gettext
from dnspanel.zones.models import AskedRRset, CountingNode
from dnspanel.zones.search.terms import Filter, Search, Since

MOST_DAYS = 90
RECENT_DAYS = 7  # for the questions per day
_LATE = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Counting:
    """The time for which all nodes have counted every question, except for `missed_seconds`.

    `first_day` is the first complete day. With a `problem`, some node doesn't count, and no time is complete.
    """

    first_day: date
    missed_seconds: int
    problem: str

    @property
    def days(self) -> int:
        """The number of complete days before today, at most MOST_DAYS."""
        return 0 if self.problem else min(MOST_DAYS, (timezone.now().date() - self.first_day).days)

    @property
    def offered(self) -> str:
        """The label of the filter for RRsets without questions."""
        if self.days == MOST_DAYS:
            return gettext("Not queried for {days} days").format(days=MOST_DAYS)
        return gettext("Not queried since {day}, when counting began").format(day=date_format(self.first_day))

    @property
    def explained(self) -> str:
        """A sentence about the time for which the counts are complete."""
        if self.problem:
            return gettext("Queries per record are incomplete: {problem}").format(problem=self.problem)
        return gettext(
            "All nodes have counted every query since {day}, except for {seconds:,} s. Queries to other name servers "
            "aren’t counted."
        ).format(day=date_format(self.first_day), seconds=self.missed_seconds)

    @property
    def shown_since(self) -> date:
        """The first complete day, or the day MOST_DAYS ago if that is later."""
        return max(self.first_day, timezone.now().date() - timedelta(days=MOST_DAYS))


@dataclass(frozen=True, slots=True)
class Use:
    """How often nodes are asked for an RRset: questions per day in the last RECENT_DAYS, and the last day with any."""

    per_day: float
    last: date


def counting_now() -> Counting | None:
    """Return the time with complete counts, or None if counting is off. Uses two queries if it is on."""
    if not settings.COUNT_QUESTIONS:
        return None
    now = timezone.now()
    last = CountingNode.objects.filter(has_left=False).order_by("until").first()
    if last is None:
        return Counting(now.date(), 0, gettext("no node has reported yet"))
    found = CountingNode.objects.aggregate(since=Max("since"), missed=Sum("missed_seconds"))
    since: datetime = found["since"]
    problem = f"{last.name}: {last.problem or gettext('no report')}" if last.until < now - _LATE else ""
    return Counting(since.date() + timedelta(days=1), round(found["missed"]), problem)


def uses_of(zone_id: int, keys: Collection[tuple[bytes, int]], counting: Counting) -> dict[tuple[bytes, int], Use]:
    """Return the use of these RRsets (owner key and type), in one query. RRsets without questions are left out."""
    days = max(1, min(RECENT_DAYS, (timezone.now().date() - counting.first_day).days + 1))
    rows = AskedRRset.objects.filter(zone_id=zone_id, owner_key__in={key for key, _ in keys})
    begin = timezone.now().date() - timedelta(days=days)
    recent = Sum("times", filter=Q(day__gt=begin), default=0)
    found = rows.values_list("owner_key", "type").annotate(recent=recent, last=Max("day"))
    return {(bytes(key), type): Use(times / days, last) for key, type, times, last in found}


def refuse_unless_counted(search: Search) -> None:
    """Raise SearchTooGeneral if the search has `asked:`, and the nodes have not counted for all of its time."""
    for term in search.terms:
        if term.filter is not Filter.ASKED or not isinstance(term.meaning, Since):
            continue
        counting = counting_now()
        if counting is None:
            raise SearchTooGeneral(
                gettext("{typed} finds nothing because queries aren’t counted.").format(typed=term.typed)
            )
        if counting.problem:
            raise SearchTooGeneral(
                gettext("{typed} can’t be used because not all nodes count queries ({problem}).").format(
                    typed=term.typed, problem=counting.problem
                )
            )
        if day_of(term.meaning.after or term.meaning.before) < counting.first_day:
            raise SearchTooGeneral(
                gettext(
                    "{typed} can’t be answered because all nodes have counted queries only since {day}. "
                    "Use {filter}:>={iso} or a later day."
                ).format(
                    typed=term.typed, day=date_format(counting.first_day), filter=term.filter, iso=counting.first_day
                )
            )


def day_of(moment: datetime | timedelta | None) -> date:
    assert moment is not None
    return (timezone.now() - moment if isinstance(moment, timedelta) else moment).date()
