"""Run ANALYZE on tables that have suddenly grown, before query plans become too slow. Verbs.

Prepared statements (`prepared_statements`) are planned once per connection and keep the plan for the table's size at
that time. If a table has only a page or two of rows, all indexes are equally good. A lookup by name may then be planned
as a full scan of another index. An import of 30,000 zones spent a tenth of its time on such scans. Their time grows
with the square of the number of zones. Autovacuum checks tables every few minutes, which is too late for most imports.
ANALYZE makes PostgreSQL plan all statements on the table again, on every connection.
"""

from django.db import connection

# A plan is used for a table of at most this many times the size that it was made for.
GROWTH = 4
# The fewest pages that PostgreSQL assumes for a table that was never analyzed (see its estimate_rel_size).
_FEWEST_PAGES = 10

_GROWN = """
SELECT pg_relation_size(oid) > current_setting('block_size')::int * %s::bigint * greatest(relpages, %s)
FROM pg_class WHERE oid = 'zones_zone'::regclass"""

# Analyze key columns only, so that autovacuum's own statistics do not change. If another process analyzes the tables
# right now, its result is as good.
_ANALYZE = "ANALYZE (SKIP_LOCKED) zones_zone (id, name), zones_rrset (zone_id, type), zones_revision (zone_id)"


def analyze_if_grown() -> bool:
    """Analyze zones, RRsets and revisions if the table of zones has grown GROWTH times since its last analysis.

    Return True if they were analyzed. Call this function outside transactions, after creating hundreds of zones.
    """
    with connection.cursor() as cursor:
        cursor.execute(_GROWN, [GROWTH, _FEWEST_PAGES])
        (grown,) = cursor.fetchone()
        if grown:
            cursor.execute(_ANALYZE)
    return bool(grown)
