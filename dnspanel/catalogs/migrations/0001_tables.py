"""Catalogs of ours with their members, and catalogs that we follow."""

import django.contrib.postgres.fields
import django.db.models.deletion
from django.db import migrations, models

from dnspanel.database.create_tables import CreateTables

# Row by row: a zone is in one catalog, the row is found by its primary key, and nothing runs where neither changes.
# A catalog that a zone left drops it in the trash, and does not name it again if it comes back.
NOTES_ZONES = """
CREATE FUNCTION catalogs_produced_moved() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE catalogs_produced SET moved = TRUE, label = CASE
        WHEN NEW.deleted_at IS NULL THEN label ELSE replace(gen_random_uuid()::text, '-', '') END
    WHERE zone_id = NEW.id;
    IF NEW.deleted_at IS NOT NULL THEN
        UPDATE catalogs_leaving SET told_at = to_timestamp(0), way = GREATEST(way, 1) WHERE zone_id = NEW.id;
    END IF;
    RETURN NULL;
END
$$;
CREATE TRIGGER catalogs_produced_moved AFTER UPDATE OF tags, deleted_at ON zones_zone FOR EACH ROW
WHEN (OLD.tags IS DISTINCT FROM NEW.tags OR (OLD.deleted_at IS NULL) <> (NEW.deleted_at IS NULL))
EXECUTE FUNCTION catalogs_produced_moved();
"""


class Migration(migrations.Migration):

    # What databases of before 1.0 have.
    replaces = [
        ("catalogs", "0001_initial"),
        ("catalogs", "0002_produced"),
        ("catalogs", "0003_producers"),
        ("catalogs", "0004_producer_groups"),
        ("catalogs", "0005_leaving"),
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
                    name='Producer',
                    fields=[
                        ('zone', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='producer', serialize=False, to='zones.zone')),
                        ('group_tags', django.contrib.postgres.fields.ArrayField(base_field=models.TextField(), default=list, size=None)),
                        ('moves', models.BigIntegerField(default=1)),
                        ('followed', models.BigIntegerField(default=0)),
                        ('compared_at', models.DateTimeField(null=True)),
                    ],
                ),
                migrations.CreateModel(
                    name='Catalog',
                    fields=[
                        ('zone', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='catalog', serialize=False, to='zones.zone')),
                        ('tags', django.contrib.postgres.fields.ArrayField(base_field=models.TextField(), default=list, size=None)),
                        ('within', django.contrib.postgres.fields.ArrayField(base_field=models.TextField(), default=list, size=None)),
                        ('most_members', models.IntegerField(default=1000)),
                        ('most_lost', models.SmallIntegerField(default=20)),
                        ('created_at', models.DateTimeField()),
                        ('followed', models.IntegerField(default=0)),
                        ('due_at', models.DateTimeField(null=True)),
                        ('listed', models.IntegerField(default=0)),
                        ('broken_since', models.DateTimeField(null=True)),
                        ('broken_reason', models.TextField(blank=True, default='')),
                        ('kept_since', models.DateTimeField(null=True)),
                        ('kept_count', models.IntegerField(default=0)),
                        ('kept_revision', models.IntegerField(null=True)),
                        ('confirmed_revision', models.IntegerField(null=True)),
                        ('team', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='accounts.team')),
                    ],
                    options={
                        'constraints': [models.CheckConstraint(condition=models.Q(('most_lost__gte', 0), ('most_lost__lte', 100)), name='catalog_lost_is_percent')],
                    },
                ),
                migrations.CreateModel(
                    name='Leaving',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('label', models.CharField(max_length=32)),
                        ('way', models.SmallIntegerField(choices=[(0, 'said'), (1, 'arrived'), (2, 'gone'), (3, 'anew')], default=0)),
                        ('told_at', models.DateTimeField(null=True)),
                        ('catalog', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='zones.zone')),
                        ('entered', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='zones.zone')),
                        ('zone', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='zones.zone')),
                    ],
                    options={
                        'constraints': [models.UniqueConstraint(fields=('zone', 'catalog'), name='leaving_once')],
                    },
                ),
                migrations.CreateModel(
                    name='Produced',
                    fields=[
                        ('zone', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='produced', serialize=False, to='zones.zone')),
                        ('label', models.CharField(max_length=32, unique=True)),
                        ('moved', models.BooleanField(db_default=False, default=False)),
                        ('ttl', models.SmallIntegerField(db_default=0, default=0)),
                        ('catalog', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='zones.zone')),
                    ],
                    options={
                        'indexes': [models.Index(condition=models.Q(('moved', True)), fields=['catalog'], name='produced_moved')],
                    },
                ),
                migrations.CreateModel(
                    name='Rule',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('addresses', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=47), size=None)),
                        ('tsig_name', models.TextField(blank=True, db_collation='C', default='')),
                        ('tsig_algorithm', models.CharField(blank=True, default='', max_length=32)),
                        ('tsig_secret', models.BinaryField(null=True)),
                        ('uses_tls', models.BooleanField(db_default=False, default=False)),
                        ('tls_names', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=253), db_default=[], default=list, size=None)),
                        ('tls_certificates', models.TextField(blank=True, db_default='', default='')),
                        ('shows_certificate', models.BooleanField(db_default=False, default=False)),
                        ('group', models.TextField()),
                        ('tags', django.contrib.postgres.fields.ArrayField(base_field=models.TextField(), default=list, size=None)),
                        ('catalog', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='rules', to='catalogs.catalog')),
                        ('team', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='accounts.team')),
                    ],
                    options={
                        'constraints': [models.UniqueConstraint(fields=('catalog', 'group'), name='catalog_rule_of_group')],
                    },
                ),
                migrations.CreateModel(
                    name='Listing',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('zone_name', models.TextField(db_collation='C')),
                        ('label', models.TextField()),
                        ('groups', django.contrib.postgres.fields.ArrayField(base_field=models.TextField(), default=list, size=None)),
                        ('coo', models.TextField(blank=True, default='')),
                        ('state', models.CharField(choices=[('member', 'added'), ('refused', 'refused'), ('moved', 'moved to another catalog')], max_length=7)),
                        ('reason', models.TextField(blank=True, default='')),
                        ('since', models.DateTimeField()),
                        ('catalog', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='listings', to='catalogs.catalog')),
                        ('zone', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='zones.zone')),
                        ('rule', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='catalogs.rule')),
                    ],
                    options={
                        'indexes': [models.Index(fields=['catalog', 'state', 'zone_name'], name='catalog_listing_state')],
                        'constraints': [models.UniqueConstraint(fields=('catalog', 'zone_name'), name='catalog_lists_once'), models.UniqueConstraint(condition=models.Q(('state', 'member')), fields=('zone',), name='zone_of_one_catalog')],
                    },
                ),
            ]
        ),
        migrations.RunSQL(NOTES_ZONES),
    ]
