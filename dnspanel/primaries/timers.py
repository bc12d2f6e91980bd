"""Compute when a zone is due and when it expires, from its SOA (RFC 1034 4.3.5, RFC 1035 3.3.13). Pure."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from replication.dns.rrset import RRset

# The bounds for the timers of an SOA, so that no primary is queried all the time and no zone is served for years
# without an answer.
LEAST_REFRESH, MOST_REFRESH = timedelta(minutes=1), timedelta(days=1)
LEAST_RETRY, MOST_RETRY = timedelta(seconds=30), timedelta(hours=6)
MOST_EXPIRE = timedelta(days=60)
# Before the first transfer there is no SOA. The pause starts with the first value and doubles up to the second.
FIRST_RETRY, MOST_FIRST_RETRY = timedelta(seconds=10), timedelta(hours=1)
_MOST_DOUBLED = 12
# NOTIFY causes a transfer at once, but not more often than this for one zone.
LEAST_GAP = timedelta(seconds=1)


@dataclass(frozen=True, slots=True)
class Timers:
    refresh: timedelta
    retry: timedelta
    expire: timedelta

    @classmethod
    def of(cls, soa: RRset) -> "Timers":
        """Return the timers of an SOA, within bounds. Primaries are queried at least twice before the zone expires."""
        refresh, retry, expire = (timedelta(seconds=int(word)) for word in soa.rdata[0].split()[3:6])
        refresh = min(max(refresh, LEAST_REFRESH), MOST_REFRESH)
        retry = min(max(retry, LEAST_RETRY), MOST_RETRY, refresh)
        return cls(refresh, retry, min(max(expire, refresh + retry), MOST_EXPIRE))


def first_retry(failures: int) -> timedelta:
    """Return the delay before the next attempt to transfer a zone for the first time, after this many failures."""
    doubled: int = 2 ** min(max(failures - 1, 0), _MOST_DOUBLED)
    return min(FIRST_RETRY * doubled, MOST_FIRST_RETRY)


def due_after_failure(timers: Timers | None, failures: int, now: datetime) -> datetime:
    """Return the time of the next refresh after a failure."""
    return now + (first_retry(failures) if timers is None else timers.retry)
