"""Nodes, groups, fronts, and what each node has acknowledged."""

import django.contrib.postgres.fields
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

from dnspanel.database.create_tables import CreateTables


class Migration(migrations.Migration):

    # What databases of before 1.0 have.
    replaces = [
        ("fleet", "0001_initial"),
        ("fleet", "0002_trust"),
        ("fleet", "0003_heartbeat"),
        ("fleet", "0004_stages"),
        ("fleet", "0005_h6_machines"),
        ("fleet", "0006_ahead"),
        ("fleet", "0007_stages_refused_since"),
        ("fleet", "0008_computed_types"),
        ("fleet", "0009_applied"),
        ("fleet", "0010_parent_check"),
        ("fleet", "0011_ahead_signing"),
        ("fleet", "0012_ahead_breaks"),
        ("fleet", "0013_unproven_zone"),
        ("fleet", "0014_fronts"),
        ("fleet", "0015_public_addresses"),
        ("fleet", "0016_names_of_retired_nodes"),
        ("fleet", "0017_processes"),
        ("fleet", "0018_contact_problem"),
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
                    name='Node',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('name', models.SlugField(max_length=63)),
                        ('state', models.CharField(choices=[('awaiting', 'waiting for approval'), ('active', 'active'), ('drained', 'drained'), ('retired', 'retired')], default='awaiting', max_length=16)),
                        ('dns_address', models.GenericIPAddressField()),
                        ('dns_port', models.IntegerField(default=53)),
                        ('public_addresses', django.contrib.postgres.fields.ArrayField(base_field=models.TextField(), db_default=[], default=list, size=None)),
                        ('agent_host', models.CharField(max_length=253)),
                        ('agent_port', models.IntegerField()),
                        ('schema', models.SmallIntegerField(default=4)),
                        ('created_at', models.DateTimeField()),
                        ('epoch', models.UUIDField(null=True)),
                        ('acked', models.BigIntegerField(default=0)),
                        ('acked_at', models.DateTimeField(null=True)),
                        ('digest', models.BinaryField(null=True)),
                        ('applied', models.BigIntegerField(db_default=0, default=0)),
                        ('applied_at', models.DateTimeField(null=True)),
                        ('contact_at', models.DateTimeField(null=True)),
                        ('contact_problem', models.TextField(blank=True, default='')),
                        ('refusal', models.TextField(blank=True, default='')),
                        ('refused_at', models.DateTimeField(null=True)),
                        ('refused_since', models.DateTimeField(null=True)),
                        ('versions', models.JSONField(default=dict)),
                        ('tags', django.contrib.postgres.fields.ArrayField(base_field=models.TextField(), db_default=[], default=list, size=None)),
                        ('is_ring0', models.BooleanField(db_default=False, default=False)),
                        ('is_front', models.BooleanField(db_default=False, default=False)),
                        ('drain_reason', models.TextField(blank=True, db_default='', default='')),
                        ('drained_at', models.DateTimeField(null=True)),
                        ('drained_until', models.DateTimeField(null=True)),
                        ('report', models.JSONField(db_default={}, default=dict)),
                        ('reported_at', models.DateTimeField(null=True)),
                        ('unanswered', models.JSONField(db_default=[], default=list)),
                        ('digest_equal', models.BooleanField(null=True)),
                        ('digest_compared_at', models.DateTimeField(null=True)),
                        ('machine', models.CharField(blank=True, db_default='', default='', max_length=64)),
                        ('machine_address', models.TextField(blank=True, db_default='', default='')),
                        ('other_machine', models.CharField(blank=True, db_default='', default='', max_length=64)),
                        ('other_machine_address', models.TextField(blank=True, db_default='', default='')),
                        ('other_machine_at', models.DateTimeField(null=True)),
                        ('next_certificate_pem', models.TextField(blank=True, db_default='', default='')),
                        ('next_certificate_sha256', models.CharField(blank=True, db_default='', default='', max_length=64)),
                        ('certificate_pem', models.TextField(blank=True, default='')),
                        ('certificate_sha256', models.CharField(blank=True, default='', max_length=64)),
                        ('certificate_expires_at', models.DateTimeField(null=True)),
                        ('drained_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                        ('group', models.ForeignKey(null=True, on_delete=django.db.models.deletion.PROTECT, related_name='nodes', to='fleet.nodegroup')),
                    ],
                    options={
                        'constraints': [models.UniqueConstraint(condition=models.Q(('state', 'retired'), _negated=True), fields=('name',), name='node_name_of_fleet')],
                    },
                ),
                migrations.CreateModel(
                    name='Heartbeat',
                    fields=[
                        ('process', models.SlugField(max_length=32, primary_key=True, serialize=False)),
                        ('at', models.DateTimeField()),
                    ],
                ),
                migrations.CreateModel(
                    name='Isolation',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('epoch', models.UUIDField()),
                        ('failed', models.BigIntegerField(unique=True)),
                        ('inverse', models.BigIntegerField()),
                        ('found_at', models.DateTimeField()),
                        ('merged_at', models.DateTimeField(null=True)),
                    ],
                ),
                migrations.CreateModel(
                    name='NodeGroup',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('name', models.SlugField(max_length=63, unique=True)),
                        ('order', models.PositiveSmallIntegerField(unique=True)),
                        ('verify_seconds', models.PositiveIntegerField(default=0)),
                        ('resolver', models.CharField(blank=True, db_default='', default='', max_length=64)),
                        ('skipped_reason', models.TextField(blank=True, db_default='', default='')),
                        ('skipped_at', models.DateTimeField(null=True)),
                    ],
                ),
                migrations.CreateModel(
                    name='PeriodicTask',
                    fields=[
                        ('name', models.SlugField(max_length=64, primary_key=True, serialize=False)),
                        ('since', models.DateTimeField()),
                        ('succeeded_at', models.DateTimeField(null=True)),
                        ('failures', models.PositiveIntegerField(default=0)),
                        ('failing_since', models.DateTimeField(null=True)),
                        ('error', models.TextField(default='')),
                    ],
                ),
                migrations.CreateModel(
                    name='AheadReport',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('asked_at', models.DateTimeField()),
                        ('epoch', models.UUIDField()),
                        ('node_name', models.CharField(blank=True, default='', max_length=63)),
                        ('is_ahead', models.BooleanField(default=False)),
                        ('highest_sequence', models.BigIntegerField(default=0)),
                        ('highest_zone_id', models.BigIntegerField(default=0)),
                        ('foreign_epochs', django.contrib.postgres.fields.ArrayField(base_field=models.UUIDField(), default=list, size=None)),
                        ('silent_nodes', django.contrib.postgres.fields.ArrayField(base_field=models.TextField(), default=list, size=None)),
                        ('zones_done', models.BigIntegerField(default=0)),
                        ('zones_total', models.BigIntegerField(default=0)),
                        ('ended_at', models.DateTimeField(null=True)),
                        ('error', models.TextField(blank=True, default='')),
                        ('choice', models.CharField(blank=True, choices=[('take_over', 'import content from nodes'), ('keep', 'keep the panel’s content')], default='', max_length=16)),
                        ('reason', models.TextField(blank=True, default='')),
                        ('decided_at', models.DateTimeField(null=True)),
                        ('carried_out_at', models.DateTimeField(null=True)),
                        ('decided_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                        ('node', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='fleet.node')),
                    ],
                ),
                migrations.CreateModel(
                    name='AheadZone',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('name', models.TextField(db_collation='C')),
                        ('id_here', models.BigIntegerField(null=True)),
                        ('id_there', models.BigIntegerField(null=True)),
                        ('serial_here', models.BigIntegerField(null=True)),
                        ('serial_there', models.BigIntegerField(null=True)),
                        ('in_trash', models.BooleanField(default=False)),
                        ('error', models.TextField(blank=True, default='')),
                        ('signing', models.JSONField(null=True)),
                        ('signing_error', models.TextField(blank=True, default='')),
                        ('breaks', models.JSONField(default=dict)),
                        ('report', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='zones', to='fleet.aheadreport')),
                    ],
                    options={
                        'indexes': [models.Index(fields=['report', 'id_here'], name='ahead_zone_here')],
                        'constraints': [models.UniqueConstraint(fields=('report', 'name'), name='ahead_zone_once')],
                    },
                ),
                migrations.CreateModel(
                    name='AheadRRset',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('name', models.TextField(db_collation='C')),
                        ('owner_key', models.BinaryField()),
                        ('type', models.IntegerField()),
                        ('here', models.JSONField(null=True)),
                        ('there', models.JSONField(null=True)),
                        ('zone', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='rrsets', to='fleet.aheadzone')),
                    ],
                    options={
                        'constraints': [models.UniqueConstraint(fields=('zone', 'owner_key', 'type'), name='ahead_rrset_once')],
                    },
                ),
                migrations.CreateModel(
                    name='Authority',
                    fields=[
                        ('id', models.SmallIntegerField(default=1, primary_key=True, serialize=False)),
                        ('ca_pem', models.TextField()),
                        ('ca_key_encrypted', models.BinaryField()),
                        ('client_pem', models.TextField()),
                        ('client_key_encrypted', models.BinaryField()),
                        ('created_at', models.DateTimeField()),
                    ],
                    options={
                        'constraints': [models.CheckConstraint(condition=models.Q(('id', 1)), name='authority_single')],
                    },
                ),
                migrations.CreateModel(
                    name='Front',
                    fields=[
                        ('node', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='front', serialize=False, to='fleet.node')),
                        ('minimum', models.IntegerField(default=1)),
                        ('most_behind', models.IntegerField(default=0)),
                        ('behind_seconds', models.FloatField(default=1.0)),
                        ('queries_per_second', models.IntegerField(default=0)),
                        ('cache_entries', models.IntegerField(default=0)),
                        ('pushed', models.CharField(blank=True, default='', max_length=32)),
                        ('pushed_at', models.DateTimeField(null=True)),
                    ],
                ),
                migrations.CreateModel(
                    name='EnrolmentCode',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('secret_sha256', models.BinaryField(unique=True)),
                        ('created_at', models.DateTimeField()),
                        ('expires_at', models.DateTimeField()),
                        ('used_at', models.DateTimeField(null=True)),
                        ('csr_pem', models.TextField(blank=True, default='')),
                        ('csr_sha256', models.CharField(blank=True, default='', max_length=64)),
                        ('node', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='codes', to='fleet.node')),
                    ],
                ),
                migrations.CreateModel(
                    name='Divergence',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('zone_id', models.BigIntegerField()),
                        ('zone_name', models.TextField(blank=True, default='')),
                        ('words', models.TextField()),
                        ('found_at', models.DateTimeField()),
                        ('repaired_at', models.DateTimeField(null=True)),
                        ('error', models.TextField(blank=True, default='')),
                        ('node', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='divergences', to='fleet.node')),
                    ],
                    options={
                        'indexes': [models.Index(fields=['node', '-found_at'], name='divergence_of_node')],
                        'constraints': [models.UniqueConstraint(condition=models.Q(('repaired_at', None)), fields=('node', 'zone_id'), name='divergence_open_once')],
                    },
                ),
                migrations.CreateModel(
                    name='Bootstrap',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('reason', models.TextField()),
                        ('schema', models.SmallIntegerField()),
                        ('asked_at', models.DateTimeField()),
                        ('started_at', models.DateTimeField(null=True)),
                        ('beat_at', models.DateTimeField(null=True)),
                        ('chunks', models.IntegerField(default=0)),
                        ('chunks_sent', models.IntegerField(default=0)),
                        ('bytes', models.BigIntegerField(default=0)),
                        ('bytes_sent', models.BigIntegerField(default=0)),
                        ('error', models.TextField(blank=True, default='')),
                        ('node', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='bootstrap', to='fleet.node')),
                    ],
                ),
                migrations.CreateModel(
                    name='Ack',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('epoch', models.UUIDField()),
                        ('sequence', models.BigIntegerField()),
                        ('at', models.DateTimeField()),
                        ('node', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='acks', to='fleet.node')),
                    ],
                    options={
                        'constraints': [models.UniqueConstraint(fields=('node', 'epoch', 'sequence'), name='ack_unique')],
                    },
                ),
                migrations.CreateModel(
                    name='FrontBackend',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('weight', models.IntegerField(default=1)),
                        ('node', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='fleet.node')),
                        ('front', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='backends', to='fleet.front')),
                    ],
                    options={
                        'constraints': [models.UniqueConstraint(fields=('front', 'node'), name='front_backend_once')],
                    },
                ),
                migrations.CreateModel(
                    name='NodeEvent',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('at', models.DateTimeField()),
                        ('kind', models.SlugField(max_length=32)),
                        ('sentence', models.TextField()),
                        ('by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                        ('node', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='events', to='fleet.node')),
                    ],
                    options={
                        'indexes': [models.Index(fields=['node', '-id'], name='event_of_node')],
                    },
                ),
                migrations.CreateModel(
                    name='Delivery',
                    fields=[
                        ('id', models.SmallIntegerField(default=1, primary_key=True, serialize=False)),
                        ('pinned', models.BigIntegerField(null=True)),
                        ('pinned_reason', models.TextField(blank=True, default='')),
                        ('pinned_at', models.DateTimeField(null=True)),
                        ('stopped_reason', models.TextField(blank=True, default='')),
                        ('stopped_at', models.DateTimeField(null=True)),
                        ('stopped_whole', models.BooleanField(db_default=False, default=False)),
                        ('resumed_at', models.DateTimeField(null=True)),
                        ('pinned_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                        ('stopped_group', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='fleet.nodegroup')),
                    ],
                    options={
                        'constraints': [models.CheckConstraint(condition=models.Q(('id', 1)), name='delivery_single')],
                    },
                ),
                migrations.CreateModel(
                    name='PanelProcess',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('name', models.SlugField(max_length=32)),
                        ('host', models.CharField(max_length=255)),
                        ('pid', models.BigIntegerField()),
                        ('started_at', models.DateTimeField()),
                        ('at', models.DateTimeField()),
                        ('version', models.CharField(default='', max_length=64)),
                        ('places', models.PositiveIntegerField(default=0)),
                        ('busy', models.PositiveIntegerField(default=0)),
                        ('task', models.TextField(default='')),
                        ('task_since', models.DateTimeField(null=True)),
                    ],
                    options={
                        'constraints': [models.UniqueConstraint(fields=('name', 'host', 'pid'), name='panel_process_once')],
                    },
                ),
                migrations.CreateModel(
                    name='ParentCheck',
                    fields=[
                        ('zone', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='parent_check', serialize=False, to='zones.zone')),
                        ('due_at', models.DateTimeField()),
                        ('requested_at', models.DateTimeField(null=True)),
                        ('state', models.CharField(choices=[('unknown', 'unknown'), ('matches', 'DS matches a signing key'), ('no-ds', 'no DS'), ('partial', 'DS at some servers only'), ('differs', 'DS doesn’t match a key'), ('bogus', 'signatures don’t validate')], default='unknown', max_length=16)),
                        ('message', models.TextField(blank=True, default='')),
                        ('since', models.DateTimeField(null=True)),
                        ('known_at', models.DateTimeField(null=True)),
                        ('checked_at', models.DateTimeField(null=True)),
                        ('parent', models.TextField(blank=True, default='')),
                        ('found', models.JSONField(default=dict)),
                        ('silent', models.TextField(blank=True, default='')),
                        ('silent_since', models.DateTimeField(null=True)),
                    ],
                    options={
                        'indexes': [models.Index(fields=['due_at', 'zone'], name='parent_check_due'), models.Index(condition=models.Q(('state__in', ['partial', 'differs', 'bogus'])), fields=['since'], name='parent_check_bad'), models.Index(condition=models.Q(('silent_since__isnull', False)), fields=['silent_since'], name='parent_check_silent')],
                    },
                ),
                migrations.CreateModel(
                    name='Release',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('epoch', models.UUIDField()),
                        ('sequence', models.BigIntegerField()),
                        ('at', models.DateTimeField()),
                        ('group', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='releases', to='fleet.nodegroup')),
                    ],
                    options={
                        'constraints': [models.UniqueConstraint(fields=('group', 'epoch'), name='release_of_group', nulls_distinct=False)],
                    },
                ),
                migrations.CreateModel(
                    name='UnprovenZone',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('problem', models.TextField()),
                        ('since', models.DateTimeField()),
                        ('looked_at', models.DateTimeField()),
                        ('node', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='unproven', to='fleet.node')),
                        ('zone', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='zones.zone')),
                    ],
                    options={
                        'constraints': [models.UniqueConstraint(fields=('node', 'zone'), name='fleet_one_unproven_a_node_and_zone')],
                    },
                ),
            ]
        ),
    ]
