"""What the servers of the parents of zones answer whose keys are being rolled over: nodes of ours, or others by DNS."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings

from dnspanel.fleet.dnssec import resolver
from dnspanel.fleet.dnssec.parent_dns import look_at_parent
from dnspanel.zones.dnssec import parent_zone
from dnspanel.zones.models import Rollover

# Servers of others are asked this often, by the rollover's clock.
ASK_EVERY = timedelta(seconds=60)
# Each of them with a pool of its own for the servers of one parent.
_AT_ONCE = 8
# As many are asked in one piece; the others have their turn at the next look, those that waited longest first.
MOST_QUERIED = 100


@dataclass(frozen=True, slots=True)
class ParentAnswer:
    """The DS RRsets that servers of a parent may answer with, their TTL, or why that is not known."""

    sets: tuple[tuple[str, ...], ...] = ()
    ttl: int = 0
    silent: str = ""


def ask_parents(rows: Sequence[Rollover], *, acked: int, now: datetime) -> dict[int, ParentAnswer]:
    """The answers for rollovers, by their ids; of those whose parent was asked a moment ago there is none.

    A parent that is a zone of this panel is not asked: what its name servers may answer is known from what the slowest
    of them has acked, which is everything up to the sequence `acked`. Secondaries that others run of it are not seen.
    """
    found: dict[int, ParentAnswer] = {}
    elsewhere = []
    for row in rows:
        here = parent_zone.answered_ds(row.zone.name, acked=acked, now=now)
        if here is not None:
            found[row.pk] = ParentAnswer(here.sets, here.ttl)
        elif row.parent_silent or row.clock - row.parent_at >= ASK_EVERY:
            elsewhere.append(row)
    names = [row.zone.name for row in sorted(elsewhere, key=lambda row: row.parent_at)[:MOST_QUERIED]]
    with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="parents") as pool:
        by_name = dict(zip(names, pool.map(_ask, names), strict=True))
    return found | {row.pk: by_name[row.zone.name] for row in elsewhere if row.zone.name in by_name}


def _ask(zone_name: str) -> ParentAnswer:
    look = look_at_parent(zone_name, resolver=resolver.configured(), networks=settings.SOURCE_NETWORKS)
    if look.silent:
        return ParentAnswer(silent=look.silent)
    return ParentAnswer(tuple(dict.fromkeys(look.servers.values())), look.ttl or 0)
