"""Alerts, their routes and messages."""

import django.db.models.deletion
from django.db import migrations, models

from dnspanel.database.create_tables import CreateTables


class Migration(migrations.Migration):

    # What databases of before 1.0 have.
    replaces = [
        ("alerts", "0001_initial"),
        ("alerts", "0002_disk_marks"),
    ]
    initial = True

    dependencies = [
        ("fleet", "0001_tables"),
    ]

    operations = [
        CreateTables(
            [
                migrations.CreateModel(
                    name='Route',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('name', models.CharField(max_length=100, unique=True)),
                        ('kind', models.CharField(choices=[('mail', 'mail'), ('webhook', 'signed webhook')], max_length=10)),
                        ('address', models.TextField()),
                        ('secret', models.BinaryField(null=True)),
                        ('least', models.CharField(choices=[('warning', 'warning'), ('critical', 'critical')], default='warning', max_length=10)),
                        ('quiet_from', models.TimeField(null=True)),
                        ('quiet_until', models.TimeField(null=True)),
                        ('time_zone', models.CharField(default='UTC', max_length=64)),
                        ('active', models.BooleanField(default=True)),
                        ('created_at', models.DateTimeField()),
                    ],
                ),
                migrations.CreateModel(
                    name='Alert',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('key', models.TextField()),
                        ('kind', models.CharField(max_length=40)),
                        ('severity', models.CharField(choices=[('warning', 'warning'), ('critical', 'critical')], max_length=10)),
                        ('sentence', models.TextField()),
                        ('since', models.DateTimeField()),
                        ('seen_at', models.DateTimeField()),
                        ('over_at', models.DateTimeField(null=True)),
                        ('node', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='alerts', to='fleet.node')),
                    ],
                    options={
                        'indexes': [models.Index(fields=['-id'], name='alert_newest')],
                        'constraints': [models.UniqueConstraint(condition=models.Q(('over_at', None)), fields=('key',), name='alert_open_once')],
                    },
                ),
                migrations.CreateModel(
                    name='DiskMark',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('at', models.DateTimeField()),
                        ('free_bytes', models.BigIntegerField()),
                        ('node', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='disk_marks', to='fleet.node')),
                    ],
                    options={
                        'constraints': [models.UniqueConstraint(fields=('node', 'at'), name='disk_mark_once')],
                    },
                ),
                migrations.CreateModel(
                    name='Message',
                    fields=[
                        ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                        ('is_over', models.BooleanField(default=False)),
                        ('due_at', models.DateTimeField()),
                        ('attempts', models.IntegerField(default=0)),
                        ('sent_at', models.DateTimeField(null=True)),
                        ('failed_at', models.DateTimeField(null=True)),
                        ('answer', models.JSONField(default=dict)),
                        ('alert', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='messages', to='alerts.alert')),
                        ('route', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='messages', to='alerts.route')),
                    ],
                    options={
                        'indexes': [models.Index(condition=models.Q(('failed_at', None), ('sent_at', None)), fields=['due_at'], name='message_waiting')],
                        'constraints': [models.UniqueConstraint(condition=models.Q(('alert__isnull', False)), fields=('route', 'alert', 'is_over'), name='message_once')],
                    },
                ),
            ]
        ),
    ]
