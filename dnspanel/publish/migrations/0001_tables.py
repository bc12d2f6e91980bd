"""Segments, snapshots and the keys that sign them."""

from django.db import migrations, models

from dnspanel.database.create_tables import CreateTables


class Migration(migrations.Migration):

    # What databases of before 1.0 have.
    replaces = [
        ("publish", "0001_initial"),
        ("publish", "0002_stall"),
        ("publish", "0003_preparedrows"),
        ("publish", "0004_trust"),
        ("publish", "0005_mergeable_and_schemas"),
        ("publish", "0006_key_in_use"),
        ("publish", "0007_damaged_index"),
        ("publish", "0008_sealing_key"),
    ]
    initial = True

    dependencies = [
    ]

    operations = [
        CreateTables(
            [
                migrations.CreateModel(
                    name='Garbage',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('object_name', models.CharField(max_length=200, unique=True)),
                        ('since', models.DateTimeField()),
                    ],
                ),
                migrations.CreateModel(
                    name='PreparedRows',
                    fields=[
                        ('sequence', models.BigIntegerField(primary_key=True, serialize=False)),
                        ('object_name', models.CharField(max_length=200)),
                        ('rows', models.IntegerField()),
                        ('digest', models.BinaryField()),
                        ('size', models.BigIntegerField()),
                    ],
                ),
                migrations.CreateModel(
                    name='SealingKey',
                    fields=[
                        ('id', models.AutoField(primary_key=True, serialize=False)),
                        ('secret_encrypted', models.BinaryField()),
                        ('created_at', models.DateTimeField()),
                    ],
                ),
                migrations.CreateModel(
                    name='SigningKey',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('public', models.BinaryField(unique=True)),
                        ('private_encrypted', models.BinaryField()),
                        ('created_at', models.DateTimeField()),
                        ('in_use_at', models.DateTimeField(null=True)),
                        ('retired_at', models.DateTimeField(null=True)),
                    ],
                ),
                migrations.CreateModel(
                    name='Stall',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('schema', models.SmallIntegerField(unique=True)),
                        ('sequence', models.BigIntegerField()),
                        ('zone_name', models.TextField(blank=True, default='')),
                        ('message', models.TextField()),
                        ('since', models.DateTimeField()),
                        ('tried_at', models.DateTimeField()),
                    ],
                ),
                migrations.CreateModel(
                    name='UsedSchema',
                    fields=[
                        ('schema', models.SmallIntegerField(primary_key=True, serialize=False)),
                        ('since', models.DateTimeField()),
                    ],
                ),
                migrations.CreateModel(
                    name='Segment',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('epoch', models.UUIDField()),
                        ('schema', models.SmallIntegerField()),
                        ('first', models.BigIntegerField()),
                        ('last', models.BigIntegerField()),
                        ('object_name', models.CharField(max_length=200, unique=True)),
                        ('size', models.BigIntegerField()),
                        ('digest', models.BinaryField()),
                        ('sealed_at', models.DateTimeField()),
                        ('mergeable', models.BooleanField(db_default=False, default=False)),
                        ('damaged', models.BooleanField(db_default=False, default=False)),
                    ],
                    options={
                        'indexes': [models.Index(condition=models.Q(('damaged', True)), fields=['schema', 'first'], name='segment_damaged')],
                        'constraints': [models.UniqueConstraint(fields=('schema', 'epoch', 'first'), name='segment_first_unique'), models.UniqueConstraint(fields=('schema', 'epoch', 'last'), name='segment_last_unique'), models.CheckConstraint(condition=models.Q(('last__gte', models.F('first'))), name='segment_order')],
                    },
                ),
                migrations.CreateModel(
                    name='Snapshot',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('epoch', models.UUIDField()),
                        ('schema', models.SmallIntegerField()),
                        ('sequence', models.BigIntegerField()),
                        ('object_name', models.CharField(max_length=200, unique=True)),
                        ('size', models.BigIntegerField()),
                        ('raw_size', models.BigIntegerField()),
                        ('chunks', models.IntegerField()),
                        ('digest', models.BinaryField()),
                        ('made_at', models.DateTimeField()),
                    ],
                    options={
                        'constraints': [models.UniqueConstraint(fields=('schema', 'epoch', 'sequence'), name='snapshot_position_unique')],
                    },
                ),
            ]
        ),
    ]
