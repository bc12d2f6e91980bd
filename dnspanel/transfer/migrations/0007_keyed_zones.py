import django.contrib.postgres.fields
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('transfer', '0006_sealed_keys'),
    ]

    operations = [
        migrations.AddField(
            model_name='exportjob',
            name='keyed_zones',
            field=django.contrib.postgres.fields.ArrayField(base_field=models.IntegerField(), db_default=[], default=list, size=None),
        ),
    ]
