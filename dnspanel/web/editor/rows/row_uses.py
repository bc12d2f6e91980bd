"""Add to each row in the editor how often nodes get queries for the record, if they count them."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import date

from django.utils.formats import date_format

from dnspanel.texts import gettext
from dnspanel.web.frame.rows import DisplayRow
from dnspanel.zones.models import Zone
from dnspanel.zones.search.queried_rrsets import Counting, uses_of
from replication.codec.keys import relative_key

_FEW = 10  # smaller numbers have a decimal


def with_uses(zone: Zone, rows: Sequence[DisplayRow], counting: Counting) -> list[DisplayRow]:
    """Return the rows with their queries per day and the last day with any, in one query.

    A published row without queries shows zero only if all nodes count.
    """
    if not rows:
        return []
    keys = [(relative_key(row.row.change.name, zone.name), row.row.change.type) for row in rows]
    uses = uses_of(zone.pk, keys, counting)
    return [_with_use(row, uses.get(key), counting) for row, key in zip(rows, keys, strict=True)]


def _with_use(row: DisplayRow, use: tuple[float, date] | None, counting: Counting) -> DisplayRow:
    if use is None and (counting.problem or not row.row.changed_in):
        return row
    number, last = use or (0, None)
    count = f"{number:,.0f}" if number >= _FEW or not number else f"{number:.1f}".removesuffix(".0")
    day = date_format(last or counting.displayed_since)
    said = gettext("last queried on {day}") if last else gettext("no queries since {day}")
    return replace(row, per_day=gettext("{count}/day").format(count=count), last_queried=said.format(day=day))
