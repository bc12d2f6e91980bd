"""Merge the pending lists of GIN indexes, which collect new entries (PostgreSQL, "GIN Fast Update Technique").

An import doesn't wait until its entries are merged into an index. Until then, each search reads the whole pending list.
If the list becomes too long (`gin_pending_list_limit`), the next writer has to merge it.
"""

from dnspanel.database.sql import fetch_one

RDATA = ("rrset_rdata", "rrset_targets")
NAMES_AND_TEXTS = ("zone_name_trigram", "search_text_trigram")


def sort_in(indexes: tuple[str, ...]) -> int:
    """Merge the pending lists into these indexes. Return the number of pages in the lists.

    Other transactions can write and search at the same time.
    """
    return int(
        fetch_one("SELECT sum(gin_clean_pending_list(name::regclass)) FROM unnest(%s::text[]) name", [list(indexes)])[0]
    )
