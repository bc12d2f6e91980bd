"""Format the number of entries in a list."""

from contextlib import suppress

from django.db.models import QuerySet

from dnspanel.database.statement_time import SearchTooGeneral, searching_for
from dnspanel.texts import gettext, ngettext
from dnspanel.zones.lists import queries
from dnspanel.zones.models import Zone


def text_of_zones(page: queries.Page[queries.ZoneRow], among: QuerySet[Zone], search: str, *, after: str = "") -> str:
    """Format the number of zones in `among` that match the search, such as "12 zones".

    `page` is the page of these zones after the place `after`. If not all zones were searched or counted, the text is
    "More than 50 zones" or names the last searched zone.
    """
    found = len(page.rows)
    if isinstance(page, queries.ZonePage) and page.looked_to:
        return ngettext(
            "{found} zone found, searched up to {looked_to}", "{found} zones found, searched up to {looked_to}", found
        ).format(found=found, looked_to=page.looked_to)
    total: int | None = found
    if page.next_after or after:
        total = None
        with suppress(SearchTooGeneral), searching_for(search):  # a count can take longer than the page did
            total = queries.zone_total(among=among, search=search)
    if total is None or total > queries.MOST_COUNTED:
        return gettext("More than {number:,} zones").format(number=found if total is None else queries.MOST_COUNTED)
    return ngettext("{number:,} zone", "{number:,} zones", total).format(number=total)


def text_of_records(found: int, *, is_part: bool) -> str:
    """Format the number of records. If the list is incomplete (`is_part`), the text says "More than …"."""
    if is_part:
        return gettext("More than {number:,} records").format(number=found)
    return ngettext("{number:,} record", "{number:,} records", found).format(number=found)
