"""Signatures (RRSIG) may stand beside a CNAME: zones that come signed have them there."""

from django.db import migrations

BY_INDEX = "SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off"

# As migration 0003 has it, but that type 46 is no clash.
RRSET_WRITTEN = f"""
CREATE OR REPLACE FUNCTION zones_rrset_written() RETURNS trigger LANGUAGE plpgsql {BY_INDEX} AS $$
DECLARE
    zone_ids int[];
    written_rows bigint;
    locked bigint;
    clash text;
BEGIN
    SELECT array_agg(zone_id), sum(n) INTO zone_ids, written_rows
        FROM (SELECT zone_id, count(*) AS n FROM written GROUP BY zone_id) AS per_zone;
    IF zone_ids IS NULL THEN
        RETURN NULL;
    END IF;
    SELECT count(*) INTO locked
        FROM (SELECT FROM zones_zone WHERE id = ANY(zone_ids) ORDER BY id FOR NO KEY UPDATE) AS there;
    IF locked < cardinality(zone_ids) THEN
        RAISE EXCEPTION 'an RRset without its zone'
            USING ERRCODE = 'foreign_key_violation', CONSTRAINT = 'rrset_zone', TABLE = 'zones_rrset';
    END IF;
    IF written_rows > 500 THEN
        SELECT c.name INTO clash FROM zones_rrset c
            WHERE c.type = 5 AND c.zone_id = ANY(zone_ids) AND EXISTS (
                SELECT FROM zones_rrset r
                WHERE r.zone_id = c.zone_id AND r.owner_key = c.owner_key AND r.type NOT IN (5, 46))
            LIMIT 1;
    ELSE
        SELECT w.name INTO clash FROM written w
            WHERE EXISTS (
                SELECT FROM zones_rrset r
                WHERE r.zone_id = w.zone_id AND r.owner_key = w.owner_key AND (r.type = 5) <> (w.type = 5)
                    AND r.type <> 46 AND w.type <> 46)
            LIMIT 1;
    END IF;
    IF clash IS NOT NULL THEN
        RAISE EXCEPTION 'a CNAME at % must be alone', clash
            USING ERRCODE = 'exclusion_violation', CONSTRAINT = 'rrset_cname_alone', TABLE = 'zones_rrset';
    END IF;
    RETURN NULL;
END
$$;
"""

# The same without that: rows that it refuses stay, and are refused when they are written again.
AS_BEFORE = RRSET_WRITTEN.replace("NOT IN (5, 46)", "<> 5").replace("AND r.type <> 46 AND w.type <> 46", "")


class Migration(migrations.Migration):
    dependencies = [("zones", "0018_signalling")]

    operations = [migrations.RunSQL(RRSET_WRITTEN, AS_BEFORE)]
