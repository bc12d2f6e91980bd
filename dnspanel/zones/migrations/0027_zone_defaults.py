import django.contrib.postgres.fields
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ('zones', '0026_zone_marks'),
    ]

    operations = [
        migrations.CreateModel(
            name='ZoneDefaults',
            fields=[
                ('id', models.SmallIntegerField(default=1, primary_key=True, serialize=False)),
                ('nameservers', django.contrib.postgres.fields.ArrayField(base_field=models.TextField(), size=None)),
                ('hostmaster', models.TextField()),
                ('changed_at', models.DateTimeField()),
                ('changed_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'constraints': [models.CheckConstraint(condition=models.Q(('id', 1)), name='zonedefaults_single')],
            },
        ),
    ]
