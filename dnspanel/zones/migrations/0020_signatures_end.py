"""Zones that came with their signatures know when the first of them ends, so that nobody reads all of them."""

from django.db import migrations, models

# The fifth word of an RRSIG is its end in UTC; Django's sessions are in UTC.
FILL = """
UPDATE zones_signing s SET signatures_end = to_timestamp(found.ends, 'YYYYMMDDHH24MISS')
FROM (
    SELECT r.zone_id, min(split_part(text, ' ', 5)) AS ends
    FROM zones_signing p JOIN zones_rrset r ON r.zone_id = p.zone_id AND r.type = 46, unnest(r.rdata) AS text
    WHERE p.is_signed AND p.state @> '{"presigned": true}' GROUP BY r.zone_id
) found WHERE s.zone_id = found.zone_id"""


class Migration(migrations.Migration):

    dependencies = [
        ('zones', '0019_signed_cnames'),
    ]

    operations = [
        migrations.AddField(
            model_name='signing',
            name='signatures_end',
            field=models.DateTimeField(null=True),
        ),
        migrations.RunSQL(FILL, migrations.RunSQL.noop),
        migrations.AddIndex(
            model_name='signing',
            index=models.Index(condition=models.Q(('signatures_end__isnull', False)), fields=['signatures_end'], name='signing_signatures_end'),
        ),
    ]
