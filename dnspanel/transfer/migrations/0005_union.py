from django.db import migrations, models

# What was called a merge replaced RRsets: it gets the name of what it did.
RENAME = """
UPDATE transfer_importzone SET action = 'rrsets' WHERE action = 'merge';
UPDATE transfer_importzone SET choice = 'rrsets' WHERE choice = 'merge';
UPDATE transfer_importjob SET options = jsonb_set(options, '{existing}', '"rrsets"') WHERE options->>'existing' = 'merge';
UPDATE transfer_importpiece SET choices = (
    SELECT jsonb_object_agg(key, CASE value WHEN 'merge' THEN 'rrsets' ELSE value END) FROM jsonb_each_text(choices)
) WHERE choices::text LIKE '%%"merge"%%'"""

ACTIONS = [
    ('create', 'create'),
    ('union', 'union'),
    ('rrsets', 'replace RRsets'),
    ('replace', 'replace the zone'),
    ('skip', 'skip'),
    ('nothing', 'nothing to change'),
    ('failed', 'cannot be imported'),
    ('duplicate', 'a second time in the source'),
    ('waiting', 'changed since the dry run'),
]


class Migration(migrations.Migration):

    dependencies = [
        ('transfer', '0004_origin'),
    ]

    operations = [
        migrations.AddField(
            model_name='importpiece',
            name='values_removed',
            field=models.BigIntegerField(db_default=0, default=0),
        ),
        migrations.AddField(
            model_name='importzone',
            name='values_removed',
            field=models.IntegerField(db_default=0, default=0),
        ),
        migrations.AlterField(
            model_name='importzone',
            name='action',
            field=models.CharField(blank=True, choices=ACTIONS, max_length=9),
        ),
        migrations.RunSQL(RENAME, migrations.RunSQL.noop),
    ]
