"""Add to each row in the editor how often nodes are asked for the record, if they count it."""

from collections.abc import Sequence
from dataclasses import replace

from django.utils.formats import date_format

from dnspanel.texts import gettext
from dnspanel.web.frame.rows import DisplayRow
from dnspanel.zones.models import Zone
from dnspanel.zones.search.asked_rrsets import Counting, uses_of
from replication.codec.keys import relative_key

_FEW = 10  # smaller numbers have a decimal


def with_uses(zone: Zone, rows: Sequence[DisplayRow], counting: Counting | None) -> list[DisplayRow]:
    """Return the rows with their questions per day and the last day with any, in one query; none if counting is off.

    A published row without questions shows zero only if all nodes count.
    """
    if counting is None or not rows:
        return list(rows)
    keys = [(relative_key(row.row.change.name, zone.name), row.row.change.type) for row in rows]
    uses = uses_of(zone.pk, keys, counting)
    found = []
    for row, key in zip(rows, keys, strict=True):
        use, per_day, last = uses.get(key), "", ""
        if use is not None:
            per_day = f"{use.per_day:,.0f}" if use.per_day >= _FEW else f"{use.per_day:.1f}".removesuffix(".0")
            last = gettext("last queried on {day}").format(day=date_format(use.last))
        elif row.row.changed_in and not counting.problem:
            per_day, last = "0", gettext("no queries since {day}").format(day=date_format(counting.shown_since))
        asked = gettext("{count}/day").format(count=per_day) if per_day else ""
        found.append(replace(row, asked=asked, last_asked=last))
    return found
