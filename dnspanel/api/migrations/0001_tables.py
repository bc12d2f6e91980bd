"""What only API v1 knows of a zone."""

import django.db.models.deletion
from django.db import migrations, models

from dnspanel.database.create_tables import CreateTables


class Migration(migrations.Migration):

    # What databases of before 1.0 have.
    replaces = [
        ("api", "0001_initial"),
        ("api", "0002_comments_in_full"),
        ("api", "0003_soa_edit_of_zones"),
    ]
    initial = True

    dependencies = [
        ("accounts", "0001_tables"),
        ("zones", "0001_tables"),
    ]

    operations = [
        CreateTables(
            [
                migrations.CreateModel(
                    name='PowerdnsZone',
                    fields=[
                        ('zone', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='powerdns', serialize=False, to='zones.zone')),
                        ('kind', models.CharField(default='Native', max_length=16)),
                        ('account', models.CharField(blank=True, max_length=40)),
                        ('catalog', models.TextField(blank=True)),
                        ('api_rectify', models.BooleanField(default=False)),
                        ('masters', models.JSONField(default=list)),
                        ('metadata', models.JSONField(default=dict)),
                        ('comments', models.JSONField(default=dict)),
                    ],
                ),
                migrations.CreateModel(
                    name='RememberedAnswer',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('key', models.CharField(max_length=255)),
                        ('request_sha256', models.BinaryField()),
                        ('at', models.DateTimeField(db_index=True)),
                        ('status', models.SmallIntegerField(null=True)),
                        ('headers', models.JSONField(default=dict)),
                        ('body', models.BinaryField(default=b'')),
                        ('token', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.token')),
                    ],
                    options={
                        'constraints': [models.UniqueConstraint(fields=('token', 'key'), name='remembered_answer_unique')],
                    },
                ),
            ]
        ),
    ]
