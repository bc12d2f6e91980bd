"""Tables that grew much at once: PostgreSQL learns of it before its plans are of the wrong size. Verbs.

Statements that are planned once for each connection (`prepared_statements`) keep the plan for the table that there was
then. On a page or two of rows any index is as good as the right one, so that a look-up by name may be planned as a
reading of some other index from end to end; an import of 30,000 zones paid a tenth of its time for that, and it grows
with the square of the zones. Autovacuum looks at tables every few minutes, which is after most imports. ANALYZE makes
PostgreSQL plan anew whatever it planned for the table, on every connection.
"""

from django.db import connection

# So that a plan is used for a table of at most this many times the size that it was made for.
GROWTH = 4
# Pages that PostgreSQL assumes at least of a table that it has never looked at (estimate_rel_size of its source).
_FEWEST_PAGES = 10

_GROWN = """
SELECT pg_relation_size(oid) > current_setting('block_size')::int * %s::bigint * greatest(relpages, %s)
FROM pg_class WHERE oid = 'zones_zone'::regclass"""

# Of columns that hold keys alone: autovacuum's own account of what it has to look at stays as it is. Whoever looks at
# the tables in this moment is as good.
_ANALYZE = "ANALYZE (SKIP_LOCKED) zones_zone (id, name), zones_rrset (zone_id, type), zones_revision (zone_id)"


def analyze_if_grown() -> bool:
    """True if zones, RRsets and revisions are more than GROWTH times what plans knew; they are planned for that now.

    Outside of transactions, after zones were created by the hundred.
    """
    with connection.cursor() as cursor:
        cursor.execute(_GROWN, [GROWTH, _FEWEST_PAGES])
        (grown,) = cursor.fetchone()
        if grown:
            cursor.execute(_ANALYZE)
    return bool(grown)
