"""GIN indexes that sort in new entries later, and the time of that (PostgreSQL, "GIN Fast Update Technique").

An import that sorted in its entries itself would wait for that. Until it is done a search reads all waiting entries,
and once too many wait (`gin_pending_list_limit`), the next writer has to sort them in.
"""

from django.db import connection

RDATA = ("rrset_rdata", "rrset_targets")
NAMES_AND_TEXTS = ("zone_name_trigram", "search_text_trigram")


def sort_in(indexes: tuple[str, ...]) -> int:
    """Sort in all waiting entries of these indexes.

    Return the number of their pages. Others write and search meantime.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT sum(gin_clean_pending_list(name::regclass)) FROM unnest(%s::text[]) name", [list(indexes)]
        )
        return int(cursor.fetchone()[0])
