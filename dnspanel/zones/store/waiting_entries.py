"""GIN indexes into which new entries are sorted later, and when that is (PostgreSQL, "GIN Fast Update Technique").

An import that sorted its entries in itself would wait for that. Until it is done a search reads all that wait, and once
too many do (`gin_pending_list_limit`), whoever writes next has to do it.
"""

from django.db import connection

RDATA = ("rrset_rdata", "rrset_targets")
NAMES_AND_TEXTS = ("zone_name_trigram", "search_text_trigram")


def sort_in(indexes: tuple[str, ...]) -> int:
    """No entries of these indexes wait; returns how many pages of them did. Others write and search meanwhile."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT sum(gin_clean_pending_list(name::regclass)) FROM unnest(%s::text[]) name", [list(indexes)]
        )
        return int(cursor.fetchone()[0])
