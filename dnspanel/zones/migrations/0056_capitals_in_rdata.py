"""Names in rdata keep their capitals; RRsets with any have a column more, by which they are found in lower case.

What was stored before has no capitals in names, so that there is nothing to fill.
"""

import django.contrib.postgres.fields
import django.contrib.postgres.indexes
from django.db import migrations, models

# As 0033 has it, but for `folded`. `rdata_targets` has always returned names in lower case.
_POINTING = """
CREATE OR REPLACE FUNCTION rrsets_pointing_at(wanted text[], most int)
RETURNS TABLE (target text, zone_id int, name text, type int, ttl int, rdata text[], disabled text[], comment text)
LANGUAGE plpgsql STABLE SET enable_seqscan = off AS $$
#variable_conflict use_column
DECLARE
    one text;
BEGIN
    FOREACH one IN ARRAY wanted LOOP
        RETURN QUERY SELECT one, r.zone_id::int, r.name, r.type, r.ttl, r.rdata, r.disabled, r.comment
            FROM zones_rrset r
            WHERE {found} AND r.type IN (2, 5, 7, 8, 9, 12, 65401)
                AND (SELECT z.deleted_at IS NULL FROM zones_zone z WHERE z.id = r.zone_id)
            LIMIT most;
        RETURN QUERY SELECT one, r.zone_id::int, r.name, r.type, r.ttl, r.rdata, r.disabled, r.comment
            FROM zones_rrset r
            WHERE rdata_targets(r.type, r.rdata) && ARRAY[one] AND r.type IN (15, 18, 33, 35, 36, 45, 64, 65, 107)
                AND (SELECT z.deleted_at IS NULL FROM zones_zone z WHERE z.id = r.zone_id)
            LIMIT most;
    END LOOP;
END $$;
"""
_AS_STORED = "r.rdata && ARRAY[one]"
_IN_ANY_CASE = "(r.rdata && ARRAY[one] OR (r.folded && ARRAY[one] AND r.folded IS NOT NULL))"


class Migration(migrations.Migration):
    dependencies = [("zones", "0055_last_serials")]

    operations = [
        migrations.AddField(
            "rrset",
            "folded",
            django.contrib.postgres.fields.ArrayField(base_field=models.TextField(), null=True, size=None),
        ),
        migrations.AddIndex(
            "rrset",
            django.contrib.postgres.indexes.GinIndex(
                condition=models.Q(folded__isnull=False), fastupdate=False, fields=["folded"], name="rrset_folded"
            ),
        ),
        migrations.RunSQL(_POINTING.format(found=_IN_ANY_CASE), _POINTING.format(found=_AS_STORED)),
    ]
