"""Servers that take zones from us, and what they have."""

import django.contrib.postgres.fields
import django.db.models.deletion
import django.db.models.functions.text
from django.conf import settings
from django.db import migrations, models

from dnspanel.database.create_tables import CreateTables


class Migration(migrations.Migration):

    # What databases of before 1.0 have.
    replaces = [
        ("secondaries", "0001_secondaries"),
        ("secondaries", "0002_team_gone"),
        ("secondaries", "0003_transfers_over_tls"),
        ("secondaries", "0004_keyless_transfers"),
        ("secondaries", "0005_catalog_groups"),
        ("secondaries", "0006_members_that_move"),
        ("secondaries", "0007_keyless_set_by"),
        ("secondaries", "0008_catalog_fetched"),
        ("secondaries", "0009_transfers_by_keys"),
        ("secondaries", "0010_compared"),
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
                    name='KeyTransfer',
                    fields=[
                        ('zone', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='+', serialize=False, to='zones.zone')),
                        ('at', models.DateTimeField()),
                    ],
                ),
                migrations.CreateModel(
                    name='NoticeMark',
                    fields=[
                        ('id', models.SmallIntegerField(default=1, primary_key=True, serialize=False)),
                        ('sequence', models.BigIntegerField(default=0)),
                    ],
                    options={
                        'constraints': [models.CheckConstraint(condition=models.Q(('id', 1)), name='notice_mark_single')],
                    },
                ),
                migrations.CreateModel(
                    name='OpenZone',
                    fields=[
                        ('zone', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='+', serialize=False, to='zones.zone')),
                        ('networks', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=49), size=None)),
                        ('set_at', models.DateTimeField(null=True)),
                        ('set_by', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                    ],
                ),
                migrations.CreateModel(
                    name='Secondary',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('name', models.CharField(max_length=40)),
                        ('kind', models.CharField(choices=[('bind', 'BIND 9.18 or later'), ('nsd', 'NSD'), ('knot', 'Knot DNS'), ('powerdns', 'PowerDNS'), ('other', 'other')], default='other', max_length=8)),
                        ('addresses', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=47), size=None)),
                        ('networks', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=49), default=list, size=None)),
                        ('transport', models.CharField(choices=[('any', 'TCP or TLS'), ('tls', 'TLS only'), ('certificate', 'TLS only, with its own certificate')], default='any', max_length=11)),
                        ('certificate', models.TextField(blank=True, default='')),
                        ('tls_port', models.IntegerField(null=True)),
                        ('tsig_name', models.TextField(db_collation='C', unique=True)),
                        ('tsig_algorithm', models.CharField(max_length=32)),
                        ('tsig_secret', models.BinaryField()),
                        ('old_secret', models.BinaryField(null=True)),
                        ('old_secret_until', models.DateTimeField(null=True)),
                        ('choice', models.CharField(choices=[('all', 'every zone'), ('tag', 'zones with a tag'), ('team', 'zones in a team'), ('list', 'selected zones')], max_length=4)),
                        ('tag', models.TextField(blank=True, default='')),
                        ('group_tags', django.contrib.postgres.fields.ArrayField(base_field=models.TextField(), default=list, size=None)),
                        ('active', models.BooleanField(default=True)),
                        ('lag_bound', models.IntegerField(default=300)),
                        ('created_at', models.DateTimeField()),
                        ('noted', models.BigIntegerField(default=0)),
                        ('catalog_serial', models.BigIntegerField(default=1)),
                        ('catalog_floor', models.BigIntegerField(default=1)),
                        ('catalog_fetched', models.BigIntegerField(db_default=0, default=0)),
                        ('catalog_notify_at', models.DateTimeField(null=True)),
                        ('catalog_attempts', models.IntegerField(default=0)),
                        ('silent_since', models.DateTimeField(null=True)),
                        ('refusals', models.BigIntegerField(default=0)),
                        ('refused_at', models.DateTimeField(null=True)),
                        ('refused_from', models.GenericIPAddressField(null=True)),
                        ('refused_reason', models.TextField(blank=True, default='')),
                        ('refusal_audited_at', models.DateTimeField(null=True)),
                        ('form_id', models.UUIDField(null=True, unique=True)),
                        ('team', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='accounts.team')),
                        ('zones', models.ManyToManyField(db_table='secondaries_listed', related_name='+', to='zones.zone')),
                    ],
                    options={
                        'constraints': [models.UniqueConstraint(django.db.models.functions.text.Lower('name'), name='secondary_name_unique'), models.CheckConstraint(condition=models.Q(models.Q(('choice', 'tag'), models.Q(('tag', ''), _negated=True)), models.Q(models.Q(('choice', 'tag'), _negated=True), ('tag', '')), _connector='OR'), name='secondary_tag_of_choice'), models.CheckConstraint(condition=models.Q(('choice', 'team'), ('team', None), _connector='OR'), name='secondary_team_only_of_choice'), models.CheckConstraint(condition=models.Q(models.Q(('transport', 'certificate'), _negated=True), models.Q(('certificate', ''), _negated=True), _connector='OR'), name='secondary_certificate_of_transport')],
                    },
                ),
                migrations.CreateModel(
                    name='Member',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('zone_name', models.TextField(db_collation='C')),
                        ('label', models.CharField(max_length=32)),
                        ('catalog_group', models.TextField(blank=True, db_default='', default='')),
                        ('coo', models.TextField(blank=True, db_default='', default='')),
                        ('coo_since', models.DateTimeField(null=True)),
                        ('since', models.BigIntegerField()),
                        ('until', models.BigIntegerField(null=True)),
                        ('notify_at', models.DateTimeField(null=True)),
                        ('attempts', models.IntegerField(default=0)),
                        ('notified_at', models.DateTimeField(null=True)),
                        ('notify_error', models.TextField(blank=True, default='')),
                        ('transferred_at', models.DateTimeField(null=True)),
                        ('transferred_serial', models.BigIntegerField(null=True)),
                        ('transferred_how', models.CharField(blank=True, default='', max_length=4)),
                        ('transferred_bytes', models.BigIntegerField(default=0)),
                        ('transferred_over_tls', models.BooleanField(default=False)),
                        ('refused_at', models.DateTimeField(null=True)),
                        ('refused_reason', models.TextField(blank=True, default='')),
                        ('behind_since', models.DateTimeField(null=True)),
                        ('served_serial', models.BigIntegerField(null=True)),
                        ('served_at', models.DateTimeField(null=True)),
                        ('question_error', models.TextField(blank=True, default='')),
                        ('question_at', models.DateTimeField(null=True)),
                        ('compared_at', models.DateTimeField(null=True)),
                        ('difference', models.TextField(blank=True, db_default='', default='')),
                        ('differs_since', models.DateTimeField(null=True)),
                        ('zone', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='zones.zone')),
                        ('secondary', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='members', to='secondaries.secondary')),
                    ],
                    options={
                        'indexes': [models.Index(condition=models.Q(('notify_at__isnull', False)), fields=['secondary', 'notify_at'], name='member_to_notify'), models.Index(condition=models.Q(('question_at__isnull', False)), fields=['secondary', 'question_at'], name='member_to_question'), models.Index(condition=models.Q(('behind_since__isnull', False)), fields=['secondary', 'behind_since'], name='member_behind'), models.Index(condition=models.Q(('differs_since__isnull', False)), fields=['secondary', 'differs_since'], name='member_differs'), models.Index(condition=models.Q(('until', None)), fields=['secondary', 'zone_name'], name='member_of_secondary'), models.Index(condition=models.Q(('until__isnull', False)), fields=['secondary', 'until'], name='member_gone')],
                        'constraints': [models.UniqueConstraint(condition=models.Q(('until', None)), fields=('secondary', 'zone'), name='member_once'), models.UniqueConstraint(fields=('secondary', 'label'), name='member_label_unique')],
                    },
                ),
                migrations.CreateModel(
                    name='ServerCertificate',
                    fields=[
                        ('id', models.SmallIntegerField(default=1, primary_key=True, serialize=False)),
                        ('pem', models.TextField()),
                        ('key_encrypted', models.BinaryField()),
                    ],
                    options={
                        'constraints': [models.CheckConstraint(condition=models.Q(('id', 1)), name='server_certificate_single')],
                    },
                ),
                migrations.CreateModel(
                    name='NoticeAddress',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('address', models.CharField(max_length=47)),
                        ('set_at', models.DateTimeField(null=True)),
                        ('notify_at', models.DateTimeField(null=True)),
                        ('attempts', models.IntegerField(default=0)),
                        ('notified_at', models.DateTimeField(null=True)),
                        ('notify_error', models.TextField(blank=True, default='')),
                        ('set_by', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                        ('zone', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='zones.zone')),
                    ],
                    options={
                        'indexes': [models.Index(condition=models.Q(('notify_at__isnull', False)), fields=['notify_at'], name='notice_address_waiting')],
                        'constraints': [models.UniqueConstraint(fields=('zone', 'address'), name='notice_address_once')],
                    },
                ),
            ]
        ),
    ]
