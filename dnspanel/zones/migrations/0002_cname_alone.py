"""PostgreSQL itself refuses a CNAME beside other RRsets of its name, whoever writes."""

from django.db import migrations

# The zone rows are locked first, so that two transactions that each see half of the clash wait for one another.
# Sequential scans and hash joins are off: with a large batch the planner would read the whole table for each.
FUNCTION = """
CREATE FUNCTION zones_cname_alone() RETURNS trigger LANGUAGE plpgsql
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off
AS $$
DECLARE
    clash text;
BEGIN
    PERFORM 1 FROM zones_zone WHERE id IN (SELECT zone_id FROM written) ORDER BY id FOR NO KEY UPDATE;
    SELECT w.name INTO clash FROM written w
        WHERE w.type <> 5 AND EXISTS (
            SELECT 1 FROM zones_rrset r WHERE r.zone_id = w.zone_id AND r.owner_key = w.owner_key AND r.type = 5)
        LIMIT 1;
    IF clash IS NULL THEN
        SELECT w.name INTO clash FROM written w
            WHERE w.type = 5 AND EXISTS (
                SELECT 1 FROM zones_rrset r
                WHERE r.zone_id = w.zone_id AND r.owner_key = w.owner_key AND r.type <> 5)
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

TRIGGER = """
CREATE TRIGGER rrset_cname_alone_on_{0} AFTER {0} ON zones_rrset
REFERENCING NEW TABLE AS written FOR EACH STATEMENT EXECUTE FUNCTION zones_cname_alone();
"""

REVERSE = """
DROP TRIGGER rrset_cname_alone_on_INSERT ON zones_rrset;
DROP TRIGGER rrset_cname_alone_on_UPDATE ON zones_rrset;
DROP FUNCTION zones_cname_alone();
"""


class Migration(migrations.Migration):
    dependencies = [("zones", "0001_initial")]

    operations = [
        migrations.RunSQL(FUNCTION + TRIGGER.format("INSERT") + TRIGGER.format("UPDATE"), REVERSE),
    ]
