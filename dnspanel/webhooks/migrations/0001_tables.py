"""Receivers, events and deliveries."""

import django.contrib.postgres.fields
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

from dnspanel.database.create_tables import CreateTables


class Migration(migrations.Migration):

    # What databases of before 1.0 have.
    replaces = [
        ("webhooks", "0001_initial"),
        ("webhooks", "0002_messages_for_people"),
        ("webhooks", "0003_requests"),
        ("webhooks", "0004_alerts"),
        ("webhooks", "0005_taken_back"),
        ("webhooks", "0006_numbers"),
    ]
    initial = True

    dependencies = [
        ("accounts", "0001_tables"),
        ("fleet", "0001_tables"),
    ]

    operations = [
        CreateTables(
            [
                migrations.CreateModel(
                    name='Event',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('uid', models.UUIDField(unique=True)),
                        ('kind', models.CharField(choices=[('publication.saved', 'Publication saved'), ('publication.everywhere', 'Publication on all nodes'), ('publication.taken_back', 'Publication reverted because nodes couldn’t serve it'), ('request.opened', 'Approval requested'), ('request.ended', 'Request published, declined or withdrawn'), ('node.state', 'Node state changed'), ('import.finished', 'Import ended'), ('alert.raised', 'Alert raised, or now critical'), ('alert.over', 'Alert resolved'), ('ping', 'Test event')], max_length=32)),
                        ('subject', models.TextField(unique=True)),
                        ('at', models.DateTimeField()),
                        ('facts', models.JSONField(default=dict)),
                    ],
                ),
                migrations.CreateModel(
                    name='NodeWatch',
                    fields=[
                        ('node', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='+', serialize=False, to='fleet.node')),
                        ('told', models.CharField(blank=True, max_length=32)),
                        ('seen', models.CharField(max_length=32)),
                        ('seen_since', models.DateTimeField()),
                    ],
                ),
                migrations.CreateModel(
                    name='Watch',
                    fields=[
                        ('id', models.SmallIntegerField(default=1, primary_key=True, serialize=False)),
                        ('saved', models.BigIntegerField()),
                        ('everywhere', models.BigIntegerField()),
                        ('looked_at', models.DateTimeField()),
                    ],
                    options={
                        'constraints': [models.CheckConstraint(condition=models.Q(('id', 1)), name='watch_single')],
                    },
                ),
                migrations.CreateModel(
                    name='Webhook',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('format', models.CharField(choices=[('events', 'Signed events for programs'), ('mail', 'Email to you'), ('slack', 'Slack'), ('mattermost', 'Mattermost'), ('teams', 'Microsoft Teams')], db_default='events', default='events', max_length=12)),
                        ('url', models.TextField()),
                        ('events', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=32), size=None)),
                        ('zones', django.contrib.postgres.fields.ArrayField(base_field=models.TextField(), db_default=[], default=list, size=None)),
                        ('tags', django.contrib.postgres.fields.ArrayField(base_field=models.TextField(), db_default=[], default=list, size=None)),
                        ('teams', django.contrib.postgres.fields.ArrayField(base_field=models.IntegerField(), db_default=[], default=list, size=None)),
                        ('gather_minutes', models.IntegerField(db_default=0, default=0)),
                        ('quiet_from', models.TimeField(null=True)),
                        ('quiet_until', models.TimeField(null=True)),
                        ('description', models.CharField(blank=True, max_length=100)),
                        ('secret', models.BinaryField()),
                        ('old_secret', models.BinaryField(null=True)),
                        ('old_secret_until', models.DateTimeField(null=True)),
                        ('active', models.BooleanField(default=True)),
                        ('last_number', models.BigIntegerField(db_default=0, default=0)),
                        ('created_at', models.DateTimeField()),
                        ('failing_since', models.DateTimeField(null=True)),
                        ('failures', models.IntegerField(default=0)),
                        ('resting_until', models.DateTimeField(null=True)),
                        ('disabled_at', models.DateTimeField(null=True)),
                        ('disabled_reason', models.TextField(blank=True)),
                        ('form_id', models.UUIDField(null=True, unique=True)),
                        ('owner', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='webhooks', to=settings.AUTH_USER_MODEL)),
                        ('token', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='webhooks', to='accounts.token')),
                    ],
                    options={
                        'indexes': [models.Index(fields=['owner', '-id'], name='webhook_of_owner')],
                    },
                ),
                migrations.CreateModel(
                    name='Delivery',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('number', models.BigIntegerField()),
                        ('state', models.CharField(choices=[('waiting', 'waiting'), ('delivered', 'delivered'), ('failed', 'failed')], default='waiting', max_length=9)),
                        ('created_at', models.DateTimeField()),
                        ('attempts', models.IntegerField(default=0)),
                        ('next_at', models.DateTimeField(null=True)),
                        ('attempted_at', models.DateTimeField(null=True)),
                        ('status', models.IntegerField(null=True)),
                        ('answer', models.TextField(blank=True)),
                        ('error', models.TextField(blank=True)),
                        ('ms', models.FloatField(null=True)),
                        ('replay_of', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='replays', to='webhooks.delivery')),
                        ('event', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='deliveries', to='webhooks.event')),
                        ('webhook', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='deliveries', to='webhooks.webhook')),
                    ],
                    options={
                        'indexes': [models.Index(fields=['webhook', '-id'], name='delivery_of_webhook'), models.Index(condition=models.Q(('state', 'waiting')), fields=['webhook', 'number'], name='delivery_waiting'), models.Index(fields=['created_at'], name='delivery_age')],
                    },
                ),
            ]
        ),
    ]
