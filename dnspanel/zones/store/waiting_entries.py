"""GIN indexes that collect new entries and sort them in later (PostgreSQL, "GIN Fast Update Technique").

An import should not wait for sorting. Until the entries are sorted in, each search reads all waiting entries. If too
many wait (`gin_pending_list_limit`), the next writer has to sort them in.
"""

from django.db import connection

RDATA = ("rrset_rdata", "rrset_targets")
NAMES_AND_TEXTS = ("zone_name_trigram", "search_text_trigram")


def sort_in(indexes: tuple[str, ...]) -> int:
    """Sort all waiting entries into these indexes. Return the number of pages that the entries used.

    Other transactions can write and search at the same time.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT sum(gin_clean_pending_list(name::regclass)) FROM unnest(%s::text[]) name", [list(indexes)]
        )
        return int(cursor.fetchone()[0])
