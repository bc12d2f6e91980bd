import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

# Whoever published the first revision of a zone created it.
FILL = """
UPDATE zones_zone z SET created_by_id = p.author_id
FROM zones_revision r JOIN zones_publication p ON p.sequence = r.publication_id
WHERE r.zone_id = z.id AND r.number = 1 AND p.author_id IS NOT NULL"""


class Migration(migrations.Migration):

    dependencies = [
        ('zones', '0006_names_backwards'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name='zone',
            name='created_by',
            field=models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL),
        ),
        migrations.AddIndex(
            model_name='zone',
            index=models.Index(fields=['created_by'], name='zone_created_by'),
        ),
        migrations.RunSQL(FILL, migrations.RunSQL.noop),
    ]
